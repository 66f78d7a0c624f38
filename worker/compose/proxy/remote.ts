/** A server elsewhere, as its client: of the newest revision where it speaks that, and else in a session. */
import { type ErrorKind, errorTable, McpError } from '../protocol/errors.ts'
import type { Message } from '../protocol/jsonrpc.ts'
import { negotiate, newestStateless } from '../protocol/revisions/index.ts'
import { enveloped, requestHeaders } from '../protocol/stateless-request.ts'
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

/** `id`: `null` on a server without ids. */
type Session = { readonly id: string | null; readonly version: string }

const { date } = newestStateless
const clientInfo = { name: 'edgemcp', version: '1' }
/** What it offers newer clients than it has sessions for. */
const newestSession = negotiate('').date

export class Remote {
  readonly #url: string
  #isStateless: boolean | undefined
  /** By what headers a caller has. */
  readonly #sessions = new Map<string, Session>()

  constructor(url: string) {
    this.#url = url
  }

  /**
   * @throws McpError what the server answered, as far as there is a word for it; `unavailable` when it does not
   */
  async request(call: RemoteCall): Promise<Result> {
    this.#isStateless ??= await this.#discover(call)
    if (this.#isStateless) return resultOf(await this.#alone(call))
    const key = JSON.stringify(call.headers)
    const known = this.#sessions.get(key)
    const answer = await this.#inSession(call, known ?? (await this.#initialize(call, key)))
    if (answer) return resultOf(answer)
    // It has forgotten the session.
    return resultOf((await this.#inSession(call, await this.#initialize(call, key))) ?? lost())
  }

  async #discover(call: RemoteCall): Promise<boolean> {
    const answer = await this.#alone({ ...call, method: 'server/discover', params: {} })
    return answer !== undefined && 'result' in answer && Array.isArray(answer.result.supportedVersions)
  }

  async #alone(call: RemoteCall): Promise<Message | undefined> {
    const { method, params, capabilities } = call
    const message = { id: 1, method, params: enveloped(params, date, { capabilities, client: clientInfo }) }
    return answerIn(await this.#post(message, call, requestHeaders(date, method, params)), 1)
  }

  async #initialize(call: RemoteCall, key: string): Promise<Session> {
    const params = { protocolVersion: newestSession, capabilities: {}, clientInfo }
    const response = await this.#post({ id: 0, method: 'initialize', params }, call, {})
    const answer = await answerIn(response, 0)
    const session: Session = {
      id: response.headers.get('Mcp-Session-Id'),
      version: String(resultOf(answer).protocolVersion),
    }
    const told = await this.#post({ method: 'notifications/initialized' }, call, headersOf(session))
    await told.body?.cancel()
    if (this.#sessions.size > mostSessions) this.#sessions.clear()
    this.#sessions.set(key, session)
    return session
  }

  /** @returns `undefined` when there is no such session any more */
  async #inSession(call: RemoteCall, session: Session): Promise<Message | undefined> {
    const { method, params } = call
    const response = await this.#post({ id: 1, method, params }, call, headersOf(session))
    if (response.status !== 404 || session.id === null) return answerIn(response, 1)
    await response.body?.cancel()
    return undefined
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

const headersOf = ({ id, version }: Session): Record<string, string> => ({
  'MCP-Protocol-Version': version,
  ...(id !== null && { 'Mcp-Session-Id': id }),
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
