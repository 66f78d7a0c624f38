/** The ways in which a server can be spoken to: a revision, with sessions or without. */
export type Way = { readonly revision: string; readonly kind: 'enveloped' | 'sessionless' | 'session' }

const newest = '2026-07-28'
const protocol = 'io.modelcontextprotocol'

/** Each request says all there is to know. */
export const enveloped: Way = { revision: newest, kind: 'enveloped' }
/** Requests of an older revision, with no session. */
export const sessionless = (revision: string): Way => ({ revision, kind: 'sessionless' })
export const sessions = (revision: string): Way => ({ revision, kind: 'session' })

export const clientInfo = { name: 'bench', version: '1.0.0' }
/** Of a client that can answer a question. */
export const capabilities = { elicitation: {} }

type Params = Readonly<Record<string, unknown>>

/** What a client of this revision sends with a request, besides what belongs to its session. */
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
