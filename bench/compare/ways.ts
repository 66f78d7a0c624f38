/** The ways to call a server: a protocol version, with or without sessions. */
export type Way = { readonly revision: string; readonly kind: 'enveloped' | 'sessionless' | 'session' }

const newest = '2026-07-28'
const protocol = 'io.modelcontextprotocol'

/** Stateless requests of the newest protocol version. */
export const enveloped: Way = { revision: newest, kind: 'enveloped' }
/** Requests of an older protocol version, without a session. */
export const sessionless = (revision: string): Way => ({ revision, kind: 'sessionless' })
export const sessions = (revision: string): Way => ({ revision, kind: 'session' })

export const clientInfo = { name: 'bench', version: '1.0.0' }
/** Capabilities of a client that answers input requests. */
export const capabilities = { elicitation: {} }

type Params = Readonly<Record<string, unknown>>

/** The headers and params of a client of this protocol version, without those of its session. */
export function written({ revision, kind }: Way, method: string, params: Params) {
  if (kind !== 'enveloped') return { headers: { 'MCP-Protocol-Version': revision }, params }
  const name = params.name ?? params.uri
  const envelope = {
    [`${protocol}/protocolVersion`]: revision,
    [`${protocol}/clientCapabilities`]: capabilities,
    [`${protocol}/clientInfo`]: clientInfo,
  }
  return {
    headers: {
      'MCP-Protocol-Version': revision,
      'Mcp-Method': method,
      ...(typeof name === 'string' && { 'Mcp-Name': name }),
    },
    params: { ...params, _meta: { ...(params._meta as Params), ...envelope } },
  }
}
