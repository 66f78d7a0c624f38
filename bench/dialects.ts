/** How each protocol version in the benchmarks writes requests and results on the wire. */
import { type Request, type Result, statelessResult } from './servers/wire.ts'

export type Headers = Readonly<Record<string, string>>
export type Message = { jsonrpc: '2.0'; id?: number; method: string; params?: object }
export type Post = (message: Message, headers: Headers) => Promise<{ headers: Headers }>

export type Dialect = {
  readonly revision: string
  /** Does what a client does before its first request. Returns the headers of all later requests. */
  open(post: Post): Promise<Headers>
  /** The headers and params of a request, in addition to those. */
  write(request: Request): { headers: Headers; params: object }
  /** The result in the form of this protocol version. */
  result(method: string, result: Result): Result
}

const clientInfo = { name: 'bench', version: '1.0.0' }

export const newest = '2026-07-28'
const envelope = {
  'io.modelcontextprotocol/protocolVersion': newest,
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': clientInfo,
}

export const stateless: Dialect = {
  revision: newest,
  async open() {
    return { 'MCP-Protocol-Version': newest }
  },
  write({ method, params }) {
    const { name } = params
    const headers = { 'Mcp-Method': method, ...(name !== undefined && { 'Mcp-Name': name }) }
    return { headers, params: { ...params, _meta: envelope } }
  },
  result: statelessResult,
}

export const session: Dialect = {
  revision: '2025-11-25',
  async open(post) {
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
    const welcome = await post({ jsonrpc: '2.0', id: 0, method: 'initialize', params }, {})
    const id = welcome.headers['mcp-session-id']
    if (!id) throw new Error('initialize was answered without a session id')
    const headers = { 'MCP-Protocol-Version': '2025-11-25', 'Mcp-Session-Id': id }
    await post({ jsonrpc: '2.0', method: 'notifications/initialized' }, headers)
    return headers
  },
  write: ({ params }) => ({ headers: {}, params }),
  result: (_method, result) => result,
}
