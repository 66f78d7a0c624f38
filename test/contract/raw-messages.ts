/** Requests as they are on the wire, without a client that knows sessions. */
export const request = (id: number, method: string, params: object = {}) => ({ jsonrpc: '2.0', id, method, params })

export type RawAnswer = { status: number; messages: Record<string, unknown>[]; headers: Headers }

/** Sends a body as it is. Returns the messages of the response, whether it is JSON or an event stream. */
export async function sendRaw(
  url: URL,
  body: unknown,
  headers: Record<string, string> = {},
  method = 'POST',
): Promise<RawAnswer> {
  const response = await fetch(url, {
    method,
    headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...headers },
    ...(method === 'POST' && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  const isStream = response.headers.get('Content-Type')?.startsWith('text/event-stream')
  const texts = isStream
    ? text.split('\n').flatMap((line) => (line.startsWith('data: {') ? [line.slice(6)] : []))
    : [text]
  const messages = texts.filter(Boolean).flatMap((each) => JSON.parse(each))
  return { status: response.status, messages, headers: response.headers }
}
