/** A server elsewhere, as its client: of the newest revision where it speaks that, and else in a session. */
import { type ErrorKind, errorTable, McpError } from '../protocol/errors.ts'
import { isObject, type Message } from '../protocol/jsonrpc.ts'
import { clientCapabilitiesKey, clientInfoKey, protocolVersionKey } from '../protocol/meta.ts'
import { encodeHeader } from '../protocol/mirror.ts'
import { negotiate, newestStateless } from '../protocol/revisions/index.ts'
import type { ClientCapabilities, Params, Result } from '../protocol/types.ts'
import { bodyMessages, events, isEventStream } from '../testing/wire.ts'

export type RemoteCall = {
  readonly method: string
  readonly params: Params
  /** Of whoever is asked in the end. Nobody can be asked in a session. */
  readonly capabilities: ClientCapabilities
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

const clientInfo = { name: 'edgemcp', version: '1' }
/** What it offers newer clients than it has sessions for. */
const newestSession = negotiate('').date

export class Remote {
  readonly #url: string
  /** How it is spoken to; sessions by what headers a caller has. Texts: nothing of one request may serve another. */
  #isStateless: boolean | undefined
  readonly #sessions = new Map<string, string>()

  constructor(url: string) {
    this.#url = url
  }

  /**
   * @throws McpError what the server answered, as far as there is a word for it; `unavailable` when it does not
   */
  async request(call: RemoteCall): Promise<Result> {
    this.#isStateless ??= await this.#discover(call)
    if (this.#isStateless)
      return resultOf(await this.#send(call.method, statelessParams(call), call, statelessHeaders(call)))
    const key = JSON.stringify(call.headers)
    const known = this.#sessions.get(key)
    const answer = await this.#inSession(call, known ?? (await this.#initialize(call, key)))
    if (answer) return resultOf(answer)
    // It has forgotten the session.
    return resultOf((await this.#inSession(call, await this.#initialize(call, key))) ?? lost())
  }

  async #discover(call: RemoteCall): Promise<boolean> {
    const asked = { ...call, method: 'server/discover', params: {} }
    const answer = await this.#send(asked.method, statelessParams(asked), asked, statelessHeaders(asked))
    return answer !== undefined && 'result' in answer && Array.isArray(answer.result.supportedVersions)
  }

  async #initialize(call: RemoteCall, key: string): Promise<string> {
    const params = { protocolVersion: newestSession, capabilities: {}, clientInfo }
    const response = await this.#post({ id: 0, method: 'initialize', params }, call, {})
    const answer = await answerIn(response, 0)
    resultOf(answer)
    const session = response.headers.get('Mcp-Session-Id') ?? ''
    const version = answer && 'result' in answer ? String(answer.result.protocolVersion) : newestSession
    const told = await this.#post({ method: 'notifications/initialized' }, call, sessionHeaders(session, version))
    await told.body?.cancel()
    if (this.#sessions.size > mostSessions) this.#sessions.clear()
    this.#sessions.set(key, JSON.stringify([session, version]))
    return this.#sessions.get(key) as string
  }

  /** @returns `undefined` when there is no such session any more */
  async #inSession(call: RemoteCall, session: string): Promise<Message | undefined> {
    const [id, version] = JSON.parse(session) as [string, string]
    const response = await this.#post({ id: 1, ...asking(call) }, call, sessionHeaders(id, version))
    if (response.status !== 404 || id === '') return answerIn(response, 1)
    await response.body?.cancel()
    return undefined
  }

  async #send(method: string, params: Params, call: RemoteCall, headers: Params): Promise<Message | undefined> {
    return answerIn(await this.#post({ id: 1, method, params }, call, headers as Record<string, string>), 1)
  }

  /** @throws McpError `unavailable` */
  async #post(message: object, call: RemoteCall, more: Readonly<Record<string, string>>): Promise<Response> {
    const response = await this.#fetch(message, call, more)
    // Whatever it is that answers there: it is no such server.
    if (response.status >= 500 && !isJson(response)) throw this.#unavailable(`HTTP ${response.status}`)
    return response
  }

  async #fetch(
    message: object,
    { headers, signal }: RemoteCall,
    more: Readonly<Record<string, string>>,
  ): Promise<Response> {
    try {
      return await fetch(this.#url, {
        method: 'POST',
        signal,
        headers: {
          ...headers,
          'Content-Type': 'application/json',
          Accept: 'application/json, text/event-stream',
          ...more,
        },
        body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      })
    } catch (problem) {
      signal.throwIfAborted()
      throw this.#unavailable(String(problem))
    }
  }

  #unavailable(reason: string): McpError {
    return new McpError('unavailable', `The server at ${new URL(this.#url).host} does not answer`, { reason })
  }
}

const mostSessions = 1000

const isJson = ({ headers }: Response) => headers.get('Content-Type')?.startsWith('application/json') === true

const asking = ({ method, params }: RemoteCall) => ({ method, params })

const statelessParams = ({ params, capabilities }: RemoteCall): Params => ({
  ...params,
  _meta: {
    ...(isObject(params._meta) && params._meta),
    [protocolVersionKey]: newestStateless.date,
    [clientCapabilitiesKey]: capabilities,
    [clientInfoKey]: clientInfo,
  },
})

const statelessHeaders = ({ method, params }: RemoteCall): Record<string, string> => ({
  'MCP-Protocol-Version': newestStateless.date,
  'Mcp-Method': method,
  ...(typeof params.name === 'string' && { 'Mcp-Name': encodeHeader(params.name) }),
})

const sessionHeaders = (session: string, version: string): Record<string, string> => ({
  'MCP-Protocol-Version': version,
  ...(session && { 'Mcp-Session-Id': session }),
})

/** The response to a request, wherever in the answer it is; `undefined` when there is none. */
async function answerIn(response: Response, id: number): Promise<Message | undefined> {
  if (!isEventStream(response)) {
    const messages = await bodyMessages(response).catch(() => [])
    return messages.find((message) => 'id' in message) ?? undefined
  }
  for await (const { data } of events(response)) {
    const message = data ? (JSON.parse(data) as Message) : undefined
    if (message && 'id' in message && message.id === id && !('method' in message)) return message
  }
  return undefined
}

function resultOf(message: Message | undefined): Result {
  if (message && 'result' in message) return message.result as Result
  if (!message || !('error' in message)) return lost()
  const { code, message: text, data } = message.error
  throw new McpError(kinds[code] ?? 'internal_error', text, data)
}

/** What a caller can do something about. */
const kinds: Readonly<Record<number, ErrorKind>> = {
  [errorTable.invalid_params.code]: 'invalid_params',
  [errorTable.missing_client_capability.code]: 'missing_client_capability',
}

function lost(): never {
  throw new McpError('unavailable', 'The server behind this one gave no answer')
}
