/** One request that stands alone, with whatever credential a test wants to send. */

export type Answered = {
  status: number
  headers: Headers
  /** What the tool said, or why there was no call. */
  text: string
}

/** Calls a tool that takes no arguments. */
export async function call(url: URL, headers: HeadersInit = {}, name = 'who'): Promise<Answered> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json',
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': 'tools/call',
      'Mcp-Name': name,
      ...Object.fromEntries(new Headers(headers)),
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: {}, _meta: envelope },
    }),
  })
  const body = await response.text()
  return { status: response.status, headers: response.headers, text: textIn(body) }
}

export const bearing = (token: string) => ({ Authorization: `Bearer ${token}` })

const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}

function textIn(body: string): string {
  try {
    const { result, error } = JSON.parse(body)
    return error?.message ?? result.content[0].text
  } catch {
    return body
  }
}
