/** A server elsewhere, as its client: of the newest revision where it speaks that, and else in a session. */
import { type ErrorKind, errorTable, McpError } from '../../protocol/errors.ts'
import { isObject, type Message } from '../../protocol/jsonrpc.ts'
import { negotiate, newestStateless } from '../../protocol/revisions/index.ts'
import { enveloped, requestHeaders } from '../../protocol/stateless-request.ts'
import type { ClientCapabilities, Params, Result, ServerCapabilities } from '../../protocol/types.ts'
import { bodyMessages, events, isEventStream } from '../../testing/wire.ts'

/** Who asks. */
export type Asking = {
  /** Of whoever is asked in the end. Nobody can be asked in a session. */
  readonly capabilities: ClientCapabilities
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

export type RemoteCall = Asking & {
  readonly method: string
  readonly params: Params
  /** Headers that repeat arguments, where there is no session. */
  readonly mirrored: Readonly<Record<string, string>>
}

/** `id`: `null` on a server without ids. */
type Session = { readonly id: string | null; readonly version: string }

/** What it says of itself, and until when that counts. */
type Description = {
  readonly isStateless: boolean
  readonly capabilities: ServerCapabilities
  readonly until: number
}

const { date } = newestStateless
const clientInfo = { name: 'edgemcp', version: '1' }
const { date: newestSession, error: errorInSession } = negotiate('')
/** Milliseconds after which a server without sessions is asked again what it offers. */
const keptFor = 60_000

export class Remote {
  readonly #url: string
  #description: Description | undefined
  /** By what headers a caller has. */
  readonly #sessions = new Map<string, Session>()

  constructor(url: string) {
    this.#url = url
  }

  /** What it offers. @throws McpError see `request` */
  async capabilities(asking: Asking): Promise<ServerCapabilities> {
    return (await this.#answering(asking, () => this.#described(asking))).capabilities
  }

  /** @throws McpError what the server answered, as far as there is a word for it; `unavailable` when it does not */
  request(call: RemoteCall): Promise<Result> {
    return this.#answering(call, async () => resultOf(await this.#ask(call), call.method))
  }

  /** @throws McpError `unavailable` instead of what else happens between two servers, if anybody waits */
  async #answering<T>({ signal }: Asking, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (problem) {
      const isGone = signal.aborted && (signal.reason as Error | undefined)?.name !== 'TimeoutError'
      throw isGone || problem instanceof McpError ? problem : this.#unavailable(String(problem))
    }
  }

  async #ask(call: RemoteCall): Promise<Message | undefined> {
    if ((await this.#described(call)).isStateless) return this.#alone(call)
    const known = this.#sessions.get(keyOf(call)) ?? (await this.#initialize(call)).session
    // It may have forgotten the session.
    return (await this.#inSession(call, known)) ?? this.#inSession(call, (await this.#initialize(call)).session)
  }

  async #described(asking: Asking): Promise<Description> {
    if (this.#description && Date.now() < this.#description.until) return this.#description
    const answer = await this.#alone({ ...asking, method: 'server/discover', params: {}, mirrored: {} })
    const result: Params | undefined = answer && 'result' in answer ? answer.result : undefined
    if (!Array.isArray(result?.supportedVersions)) {
      // One that has spoken for itself before has other reasons, such as too many requests.
      return this.#description ?? (await this.#initialize(asking)).description
    }
    const capabilities = isObject(result.capabilities) ? result.capabilities : {}
    this.#description = { isStateless: true, capabilities, until: Date.now() + keptFor }
    return this.#description
  }

  async #alone(call: RemoteCall): Promise<Message | undefined> {
    const { method, params, capabilities, mirrored } = call
    const message = { id: 1, method, params: enveloped(params, date, { capabilities, client: clientInfo }) }
    return answerIn(await this.#post(message, call, { ...mirrored, ...requestHeaders(date, method, params) }), 1)
  }

  async #initialize(asking: Asking): Promise<{ session: Session; description: Description }> {
    const params = { protocolVersion: newestSession, capabilities: {}, clientInfo }
    const response = await this.#post({ id: 0, method: 'initialize', params }, asking, {})
    const { protocolVersion, capabilities } = resultOf(await answerIn(response, 0), 'initialize')
    const session: Session = { id: response.headers.get('Mcp-Session-Id'), version: String(protocolVersion) }
    const told = await this.#post({ method: 'notifications/initialized' }, asking, headersOf(session))
    await told.body?.cancel()
    if (this.#sessions.size > mostSessions) this.#sessions.clear()
    this.#sessions.set(keyOf(asking), session)
    const offered = isObject(capabilities) ? capabilities : {}
    // What a session was told counts as long as there are sessions.
    const description = { isStateless: false, capabilities: offered, until: Number.POSITIVE_INFINITY }
    this.#description = description
    return { session, description }
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
  async #post(message: object, { headers, signal }: Asking, more: Readonly<Record<string, string>>): Promise<Response> {
    const response = await fetch(this.#url, {
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
    // Whatever it is that answers there: it is no such server.
    if (response.status >= 500 && !isJson(response)) throw this.#unavailable(`HTTP ${response.status}`)
    return response
  }

  #unavailable(reason: string): McpError {
    return new McpError('unavailable', `The server at ${new URL(this.#url).host} does not answer`, { reason })
  }
}

const mostSessions = 1000

const keyOf = ({ headers }: Asking): string => JSON.stringify(headers)

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

function resultOf(message: Message | undefined, method: string): Result {
  if (message && 'result' in message) return message.result as Result
  if (!message || !('error' in message)) {
    throw new McpError('unavailable', 'The server behind this one gave no answer')
  }
  const { code, message: text, data } = message.error
  throw new McpError(kindOf(code, method), text, data)
}

/** What a caller can do something about. */
function kindOf(code: number, method: string): ErrorKind {
  const isInvalid = code === errorTable.invalid_params.code
  // In sessions there is a code for a resource that is not there, which many servers do not use.
  if (method === 'resources/read' && (isInvalid || code === errorInSession('resource_not_found').code)) {
    return 'resource_not_found'
  }
  if (isInvalid) return 'invalid_params'
  if (code === errorTable.header_mismatch.code) return 'header_mismatch'
  return code === errorTable.missing_client_capability.code ? 'missing_client_capability' : 'internal_error'
}
