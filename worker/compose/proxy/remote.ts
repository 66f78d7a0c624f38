/** An upstream MCP server, of which this server is a client: of the newest version where it speaks that, and else in sessions. */
import { type ErrorKind, errorTable, McpError } from '../../protocol/errors.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import { negotiate, newestStateless } from '../../protocol/revisions/index.ts'
import { enveloped, requestHeaders } from '../../protocol/stateless-request.ts'
import type { ClientCapabilities, Params, Result, ServerCapabilities } from '../../protocol/types.ts'
import { type Match, matchResponse } from './match-response.ts'
import { type InputRequired, invalidResult, readResult } from './results.ts'
import { type UpstreamSession, UpstreamSessions } from './upstream-sessions.ts'

/** On whose behalf a request is sent. */
export type RemoteCaller = {
  /** Requests with the same key share an upstream session. */
  readonly sessionKey: string
  /** Of the client that is asked in the end. In a session of the upstream no client can be asked. */
  readonly capabilities: ClientCapabilities
  /** The developer's. */
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

export type RemoteCall = RemoteCaller & {
  readonly method: string
  readonly params: Params
  /** Headers that repeat arguments, for an upstream without sessions. */
  readonly mirrored: Readonly<Record<string, string>>
}

export type RemotePlatform = {
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>
  readonly waitUntil: (work: Promise<unknown>) => void
}

/** What an upstream says of itself, and until when that counts. */
type Description = {
  readonly isStateless: boolean
  readonly capabilities: ServerCapabilities
  readonly untilMs: number
}

const { date } = newestStateless
const clientInfo = { name: 'edgemcp', version: '1' }
const { date: newestSession, error: errorInSession } = negotiate('')
/** After this an upstream without sessions is asked again what it offers. */
const descriptionMs = 60_000
const endTimeoutMs = 5_000

export class Remote {
  readonly url: string
  readonly #host: string
  readonly #platform: RemotePlatform
  readonly #sessions: UpstreamSessions
  #description: Description | undefined

  /** @param url absolute */
  constructor(url: string, platform: RemotePlatform) {
    this.url = url
    this.#host = new URL(url).host
    this.#platform = platform
    this.#sessions = new UpstreamSessions((session) => this.#end(session))
  }

  /** What the upstream offers. @throws McpError see `request` */
  async capabilities(caller: RemoteCaller): Promise<ServerCapabilities> {
    return (await this.#answering(caller, () => this.#described(caller))).capabilities
  }

  /** @throws McpError what the upstream answered, as far as there is a kind for it; `unavailable` when it does not */
  request(call: RemoteCall): Promise<Result | InputRequired> {
    return this.#answering(call, async () => {
      const { isStateless } = await this.#described(call)
      return isStateless
        ? this.#resultOf(await this.#sendStateless(call), call.method, true)
        : this.#sendInSession(call)
    })
  }

  /** For a result that the protocol does not have. */
  invalidResult(method: string, reason: string): McpError {
    return invalidResult(this.#host, method, reason)
  }

  /** For a log. @param problems of the entries that are left out, in their order */
  invalidEntries(list: string, problems: readonly string[]): McpError {
    const reasons = [...new Set(problems)].slice(0, 3).join('; ')
    return new McpError(
      'unavailable',
      `The server at ${this.#host} has ${problems.length} invalid entries in ${list}, which are left out: ${reasons}`,
    )
  }

  /** Ends the session with this key. */
  end(sessionKey: string): void {
    this.#sessions.retire(sessionKey)
  }

  /** @throws McpError `unavailable` for any other failure, unless the caller has gone */
  async #answering<T>({ signal }: RemoteCaller, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (problem) {
      const isGone = signal.aborted && (signal.reason as Error | undefined)?.name !== 'TimeoutError'
      throw isGone || problem instanceof McpError ? problem : this.#noAnswer(String(problem))
    }
  }

  async #described(caller: RemoteCaller): Promise<Description> {
    if (this.#description && Date.now() < this.#description.untilMs) return this.#description
    const match = await this.#sendStateless({ ...caller, method: 'server/discover', params: {}, mirrored: {} })
    const result = match.kind === 'response' && 'result' in match.message ? match.message.result : {}
    if (!Array.isArray(result.supportedVersions)) {
      // An upstream that has described itself before has other reasons, such as too many requests.
      if (this.#description) return this.#description
      const { session, description } = await this.#initialize(caller)
      this.#sessions.release(session)
      return description
    }
    const capabilities = isObject(result.capabilities) ? result.capabilities : {}
    this.#description = { isStateless: true, capabilities, untilMs: Date.now() + descriptionMs }
    return this.#description
  }

  async #sendStateless(call: RemoteCall): Promise<Match> {
    const { method, params, capabilities, mirrored } = call
    const id = newRequestId()
    const message = { id, method, params: enveloped(params, date, { capabilities, client: clientInfo }) }
    return matchResponse(await this.#post(message, call, { ...mirrored, ...requestHeaders(date, method, params) }), id)
  }

  /** Sends a request in the caller's session. Begins that session again once if the upstream does not know it. */
  async #sendInSession(call: RemoteCall): Promise<Result | InputRequired> {
    const { method, params, sessionKey } = call
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      const session = this.#sessions.acquire(sessionKey) ?? (await this.#initialize(call)).session
      try {
        const id = newRequestId()
        const response = await this.#post({ id, method, params }, call, sessionHeaders(session))
        const match = await matchResponse(response, id)
        if (!isUnknownSession(session, response, match)) return this.#resultOf(match, method, false)
        this.#sessions.forget(sessionKey, session)
      } finally {
        this.#sessions.release(session)
      }
    }
    throw this.#noAnswer('It does not know the session that it has just begun')
  }

  /** @returns a session that one request uses */
  async #initialize(caller: RemoteCaller): Promise<{ session: UpstreamSession; description: Description }> {
    const id = newRequestId()
    const params = { protocolVersion: newestSession, capabilities: {}, clientInfo }
    const response = await this.#post({ id, method: 'initialize', params }, caller, {})
    const result = this.#resultOf(await matchResponse(response, id), 'initialize', false)
    const { protocolVersion, capabilities } = result as Result
    const session: UpstreamSession = {
      id: response.headers.get('Mcp-Session-Id'),
      version: String(protocolVersion),
      headers: caller.headers,
      uses: 1,
      usedAtMs: Date.now(),
      isRetired: false,
    }
    this.#sessions.add(caller.sessionKey, session)
    try {
      const accepted = await this.#post({ method: 'notifications/initialized' }, caller, sessionHeaders(session))
      await accepted.body?.cancel()
    } catch (problem) {
      this.#sessions.retire(caller.sessionKey)
      this.#sessions.release(session)
      throw problem
    }
    // The description of an upstream with sessions counts for as long as there are sessions.
    const offered = isObject(capabilities) ? capabilities : {}
    const description = { isStateless: false, capabilities: offered, untilMs: Number.POSITIVE_INFINITY }
    this.#description = description
    return { session, description }
  }

  /** @throws McpError `unavailable` when no MCP server answers, or the answer is a redirect */
  async #post(message: object, caller: RemoteCaller, own: Readonly<Record<string, string>>): Promise<Response> {
    const protocol = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...own }
    const response = await this.#platform.fetch(this.url, {
      method: 'POST',
      // Another origin must not get the headers, which are credentials.
      redirect: 'manual',
      signal: caller.signal,
      headers: withProtocolHeaders(caller.headers, protocol),
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    })
    const isRefused = response.status >= 500 && !isJson(response)
    const isRedirect = response.status >= 300 && response.status < 400
    if (!isRefused && !isRedirect) return response
    await response.body?.cancel()
    throw isRedirect ? this.#redirected(response) : this.#noAnswer(`HTTP ${response.status}`)
  }

  /** Ends a session upstream. An upstream may refuse that: then the session ends in its own time. */
  #end(session: UpstreamSession): void {
    if (session.id === null) return
    const ended = this.#platform
      .fetch(this.url, {
        method: 'DELETE',
        redirect: 'manual',
        signal: AbortSignal.timeout(endTimeoutMs),
        headers: withProtocolHeaders(session.headers, sessionHeaders(session)),
      })
      .then((response) => response.body?.cancel())
      .catch(() => {})
    this.#platform.waitUntil(ended)
  }

  /** @throws McpError what the upstream answered; `unavailable` when that is no answer to the request */
  #resultOf(match: Match, method: string, canBeAsked: boolean): Result | InputRequired {
    if (match.kind === 'foreign') {
      throw new McpError('unavailable', `The server at ${this.#host} answered with the id of another request`)
    }
    if (match.kind === 'none') throw new McpError('unavailable', `The server at ${this.#host} gave no answer`)
    if ('result' in match.message) return readResult(method, match.message.result, canBeAsked, this.#host)
    const { code, message, data } = match.message.error
    throw new McpError(kindOf(code, method), message, data)
  }

  #noAnswer(reason: string): McpError {
    return new McpError('unavailable', `The server at ${this.#host} does not answer`, { reason })
  }

  #redirected(response: Response): McpError {
    const to = URL.parse(response.headers.get('Location') ?? '', this.url)
    const where = to ? `${to.origin}${to.pathname}` : 'nowhere'
    return new McpError(
      'unavailable',
      `The server at ${this.#host} redirects to ${where}: proxy() follows no redirects, so give it the URL that answers`,
    )
  }
}

let requestIdPrefix: string | undefined
let requestCount = 0

/** Returns an id that no other request to any upstream has, of this isolate or another one. */
function newRequestId(): string {
  // A Worker has no randomness before its first request.
  requestIdPrefix ??= crypto.randomUUID()
  requestCount += 1
  return `${requestIdPrefix}-${requestCount}`
}

/** An upstream that has restarted answers 404, or 400 without the id of the request, which it did not look at. */
const isUnknownSession = ({ id }: UpstreamSession, { status }: Response, { kind }: Match): boolean =>
  id !== null && (status === 404 || (status === 400 && kind !== 'response'))

const isJson = ({ headers }: Response) => headers.get('Content-Type')?.startsWith('application/json') === true

const sessionHeaders = ({ id, version }: UpstreamSession): Record<string, string> => ({
  'MCP-Protocol-Version': version,
  ...(id !== null && { 'Mcp-Session-Id': id }),
})

/** The developer's headers, and those of the protocol, which the developer cannot set. */
function withProtocolHeaders(developers: HeadersInit, protocol: Readonly<Record<string, string>>): Headers {
  const headers = new Headers(developers)
  for (const name of [...headers.keys()]) if (name.startsWith('mcp-')) headers.delete(name)
  for (const [name, value] of Object.entries(protocol)) headers.set(name, value)
  return headers
}

/** What a caller can do something about. */
function kindOf(code: number, method: string): ErrorKind {
  const isInvalid = code === errorTable.invalid_params.code
  // Versions with sessions have a code for a resource that does not exist, which many servers do not use.
  if (method === 'resources/read' && (isInvalid || code === errorInSession('resource_not_found').code)) {
    return 'resource_not_found'
  }
  if (isInvalid) return 'invalid_params'
  if (code === errorTable.header_mismatch.code) return 'header_mismatch'
  return code === errorTable.missing_client_capability.code ? 'missing_client_capability' : 'internal_error'
}
