/** For each row of the table in docs/reference/limits.md: messages with a value of a given size, and what a value beyond the bound gets. */
import type * as bounds from '../../worker/protocol/bounds.ts'

type Params = Record<string, unknown>

/** What is posted; a request unless it says otherwise. */
export type Posted =
  | { method: string; params: Params; id?: string; headers?: Record<string, string> }
  | { result: unknown }

export type Case = {
  /** As the first column of the table says it. */
  what: string
  bound: keyof typeof bounds
  /** HTTP status and code of the refusal, where it is not 400 and -32602. */
  refused?: readonly [status: number, code: number]
  /** A value within the bound gets the same answer: no session has such an id. */
  isAlwaysRefused?: true
  /** The transports that have such a message. Default all. */
  over?: readonly Transport[]
  /** @param size as large as the bound, or one more */
  post(size: number): Posted
}

export type Transport = 'stateless' | 'session' | 'sse'
export const transports: readonly Transport[] = ['stateless', 'session', 'sse']

const letters = (length: number) => 'a'.repeat(length)
const several = (count: number, make: (index: number) => unknown) =>
  Array.from({ length: count }, (_, index) => make(index))
const entries = (count: number, make: (index: number) => unknown) =>
  Object.fromEntries(several(count, (index) => [`k${index}`, make(index)]) as [string, unknown][])
/** An object that is so many characters of JSON. */
const jsonOf = (length: number) => ({ a: letters(length - JSON.stringify({ a: '' }).length) })

const call = (params: Params): Posted => ({ method: 'tools/call', params: { name: 'nothing', ...params } })
const complete = (params: Params): Posted => ({
  method: 'completion/complete',
  params: { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'who', value: '' }, ...params },
})
const listen = (notifications: Params): Posted => ({ method: 'subscriptions/listen', params: { notifications } })

export const cases: readonly Case[] = [
  {
    what: 'request id',
    bound: 'idCharacters',
    refused: [400, -32600],
    post: (size) => ({ id: letters(size), method: 'tools/list', params: {} }),
  },
  {
    what: 'progress token',
    bound: 'idCharacters',
    post: (size) => call({ _meta: { progressToken: letters(size) } }),
  },
  {
    what: 'method',
    bound: 'methodCharacters',
    refused: [400, -32600],
    post: (size) => ({ method: letters(size), params: {} }),
  },
  {
    what: 'name of a tool, a prompt or an argument',
    bound: 'nameCharacters',
    post: (size) => call({ name: letters(size) }),
  },
  {
    what: 'name of a tool, a prompt or an argument',
    bound: 'nameCharacters',
    post: (size) => ({ method: 'prompts/get', params: { name: letters(size) } }),
  },
  {
    what: 'name of a tool, a prompt or an argument',
    bound: 'nameCharacters',
    post: (size) => complete({ argument: { name: letters(size), value: '' } }),
  },
  {
    what: 'name of a tool, a prompt or an argument',
    bound: 'nameCharacters',
    post: (size) => complete({ ref: { type: 'ref/prompt', name: letters(size) } }),
  },
  {
    what: 'URI',
    bound: 'uriCharacters',
    post: (size) => ({ method: 'resources/read', params: { uri: `note://${letters(size - 7)}` } }),
  },
  {
    what: 'URI',
    bound: 'uriCharacters',
    over: ['session', 'sse'],
    post: (size) => ({ method: 'resources/subscribe', params: { uri: `note://${letters(size - 7)}` } }),
  },
  {
    what: 'URI',
    bound: 'uriCharacters',
    over: ['session', 'sse'],
    post: (size) => ({ method: 'resources/unsubscribe', params: { uri: `note://${letters(size - 7)}` } }),
  },
  {
    what: 'URI',
    bound: 'uriCharacters',
    post: (size) => complete({ ref: { type: 'ref/resource', uri: `note://${letters(size - 7)}` } }),
  },
  {
    what: 'cursor',
    bound: 'cursorCharacters',
    post: (size) => ({ method: 'tools/list', params: { cursor: letters(size) } }),
  },
  {
    what: '`requestState`',
    bound: 'requestStateCharacters',
    post: (size) => call({ requestState: letters(size) }),
  },
  {
    what: 'task id',
    bound: 'taskIdCharacters',
    post: (size) => ({ method: 'tasks/get', params: { taskId: letters(size) } }),
  },
  {
    what: 'task id',
    bound: 'taskIdCharacters',
    over: ['stateless'],
    post: (size) => listen({ taskIds: [letters(size)] }),
  },
  {
    what: 'log level',
    bound: 'levelCharacters',
    post: (size) => ({ method: 'logging/setLevel', params: { level: letters(size) } }),
  },
  {
    what: 'log level',
    bound: 'levelCharacters',
    over: ['stateless'],
    post: (size) => call({ _meta: { 'io.modelcontextprotocol/logLevel': letters(size) } }),
  },
  {
    what: 'protocol version, in a message',
    bound: 'versionCharacters',
    over: ['session', 'sse'],
    post: (size) => ({
      method: 'initialize',
      params: { protocolVersion: letters(size), capabilities: {}, clientInfo: { name: 'a', version: '1' } },
    }),
  },
  {
    what: '`_meta`',
    bound: 'metaCharacters',
    over: ['session', 'sse'],
    post: (size) => call({ _meta: jsonOf(size) }),
  },
  {
    what: '`capabilities` and `clientInfo` of `initialize`, the parts that the session id holds',
    bound: 'handshakeBytes',
    over: ['session'],
    post: (size) => {
      const sealed = { version: '2025-11-25', capabilities: {}, client: { name: '', version: '1' } }
      const name = letters(size - JSON.stringify(sealed).length)
      const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name, version: '1' } }
      return { method: 'initialize', params }
    },
  },
  {
    what: '`argument.value` and each value of `context.arguments` of `completion/complete`',
    bound: 'completionCharacters',
    post: (size) => complete({ argument: { name: 'who', value: letters(size) } }),
  },
  {
    what: '`argument.value` and each value of `context.arguments` of `completion/complete`',
    bound: 'completionCharacters',
    post: (size) => complete({ context: { arguments: { other: letters(size) } } }),
  },
  {
    what: 'entries of `context.arguments` of `completion/complete`',
    bound: 'completionArguments',
    post: (size) => complete({ context: { arguments: entries(size, () => 'a') } }),
  },
  {
    what: 'entries of `inputResponses`',
    bound: 'inputResponses',
    post: (size) => call({ inputResponses: entries(size, () => ({ action: 'decline' })) }),
  },
  {
    what: 'input response',
    bound: 'inputResponseCharacters',
    post: (size) => call({ inputResponses: { name: jsonOf(size) } }),
  },
  {
    what: 'input response',
    bound: 'inputResponseCharacters',
    over: ['session', 'sse'],
    post: (size) => ({ result: jsonOf(size) }),
  },
  {
    what: 'roots in a response to `roots/list`',
    bound: 'roots',
    post: (size) => call({ inputResponses: { folders: { roots: several(size, () => ({ uri: 'file:///a' })) } } }),
  },
  {
    what: 'roots in a response to `roots/list`',
    bound: 'roots',
    over: ['session', 'sse'],
    post: (size) => ({ result: { roots: several(size, () => ({ uri: 'file:///a' })) } }),
  },
  {
    what: 'URIs in a filter of `subscriptions/listen`',
    bound: 'filterUris',
    over: ['stateless'],
    post: (size) => listen({ resourceSubscriptions: several(size, (index) => `note://${index}`) }),
  },
  {
    what: 'URIs in a filter of `subscriptions/listen`, together',
    bound: 'filterCharacters',
    over: ['stateless'],
    post: (size) => listen({ resourceSubscriptions: [`note://${letters(size - 1007)}`, `note://${letters(993)}`] }),
  },
  {
    what: 'task ids in a filter of `subscriptions/listen`',
    bound: 'filterTaskIds',
    over: ['stateless'],
    post: (size) => listen({ taskIds: several(size, (index) => `${index}`) }),
  },
  {
    what: 'header `Mcp-Session-Id`',
    bound: 'sessionIdCharacters',
    refused: [404, -32600],
    isAlwaysRefused: true,
    over: ['session'],
    post: (size) => ({ method: 'ping', params: {}, headers: { 'Mcp-Session-Id': letters(size) } }),
  },
  {
    what: 'header `MCP-Protocol-Version`',
    bound: 'versionCharacters',
    refused: [400, -32600],
    over: ['session', 'sse'],
    post: (size) => ({ method: 'ping', params: {}, headers: { 'MCP-Protocol-Version': letters(size) } }),
  },
  {
    what: 'headers `Accept` and `Content-Type`',
    bound: 'headerCharacters',
    refused: [400, -32600],
    post: (size) => ({
      method: 'tools/list',
      params: {},
      headers: { Accept: `application/json, text/event-stream;a=${letters(size)}`.slice(0, size) },
    }),
  },
]
