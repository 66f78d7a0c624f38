/** An upstream MCP server, of which this server is a client: of the newest version where it speaks that, and else in sessions. */

import { maxAnswerBytes } from '../../../protocol/bounded-body.ts'
import { BoundedMap } from '../../../protocol/bounded-map.ts'
import { type ErrorKind, errorTable, McpError } from '../../../protocol/errors.ts'
import { isObject, type RequestMessage } from '../../../protocol/jsonrpc.ts'
import { negotiateVersion } from '../../../protocol/negotiate-version.ts'
import { newestStateless } from '../../../protocol/revisions/index.ts'
import { enveloped, requestHeaders } from '../../../protocol/stateless-request.ts'
import type { ClientCapabilities, Params, Result, ServerCapabilities } from '../../../protocol/types.ts'
import { type InputRequired, invalidResult, readResult } from './results.ts'
import { type Match, matchResponse, type Peer } from './upstream-response.ts'
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

/** What an upstream offers, and until when that counts. */
type Description = { readonly capabilities: ServerCapabilities; readonly untilMs: number }

/** How a request reaches the upstream: in a session, which the request uses and releases, or without one. */
type Connection = { readonly capabilities: ServerCapabilities; readonly session?: UpstreamSession }

type Answered = { readonly response: Response; readonly match: Match }

const { date } = newestStateless
const clientInfo = { name: 'edgemcp', version: '1' }
const { date: newestSession, error: errorInSession } = negotiateVersion('')
/** After this an upstream is asked again what it offers and whether it has sessions. */
const descriptionMs = 60_000
/** Descriptions of one upstream: one for each set of headers. */
const maxDescriptions = 1000
/** How long a handshake that another request has begun is waited for, and how often it is looked at. */
const handshakeMs = 10_000
const handshakePollMs = 20
/** The statuses of refusals that are no evidence about the versions of an upstream. */
const temporary = new Set([401, 403, 407, 408, 425, 429, 502, 503, 504])
const endTimeoutMs = 5_000

export class Remote {
  readonly url: string
  readonly #host: string
  readonly #platform: RemotePlatform
  readonly #sessions: UpstreamSessions
  /** By the developer's headers: what an upstream offers can depend on the credential. */
  readonly #descriptions = new BoundedMap<string, Description>({ maxEntries: maxDescriptions })
  /** Until then the upstream counts as one with sessions. */
  #hasSessionsUntilMs = 0
  /** When the handshake of a session key is given up, if a request has begun one. */
  readonly #handshakes = new BoundedMap<string, number>({ maxEntries: maxDescriptions })

  /** @param url absolute */
  constructor(url: string, platform: RemotePlatform) {
    this.url = url
    this.#host = new URL(url).host
    this.#platform = platform
    this.#sessions = new UpstreamSessions((session) => this.#end(session))
  }

  /** What the upstream offers. @throws McpError see `request` */
  async capabilities(caller: RemoteCaller): Promise<ServerCapabilities> {
    const { capabilities, session } = await this.#answering(caller, () => this.#connect(caller))
    if (session) this.#sessions.release(session)
    return capabilities
  }

  /** @throws McpError what the upstream answered, as far as there is a kind for it; `unavailable` when it does not */
  request(call: RemoteCall): Promise<Result | InputRequired> {
    return this.#answering(call, async () => {
      const first = await this.#connect(call)
      const answered = await this.#sendOver(first, call)
      if (!isRefusedUnseen(first, answered)) return this.#resultOf(answered.match, call.method, !first.session)
      // The upstream may have restarted, and may speak other versions now.
      if (first.session) this.#sessions.forget(call.sessionKey, first.session)
      else this.#descriptions.delete(descriptionKey(call))
      const second = await this.#connect(call)
      if (!first.session && !second.session) return this.#resultOf(answered.match, call.method, true)
      const again = await this.#sendOver(second, call)
      if (first.session && second.session && isRefusedUnseen(second, again)) {
        // It refuses the request, not the session.
        this.#sessions.add(call.sessionKey, first.session)
      }
      return this.#resultOf(again.match, call.method, !second.session)
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
      const isGone = signal.aborted && !isTimeout(signal)
      throw isGone || problem instanceof McpError ? problem : this.noAnswer(String(problem))
    }
  }

  async #connect(caller: RemoteCaller): Promise<Connection> {
    const session = this.#sessions.acquire(caller.sessionKey)
    if (session) return { capabilities: session.capabilities, session }
    const key = descriptionKey(caller)
    const description = this.#descriptions.get(key)
    if (description && Date.now() < description.untilMs) return { capabilities: description.capabilities }
    const hasSessions = this.#hasSessionsUntilMs > 0
    if (Date.now() < this.#hasSessionsUntilMs) {
      const connection = await this.#begin(caller).catch(() => undefined)
      if (connection) return connection
      // The upstream may have no sessions any more.
      this.#hasSessionsUntilMs = 0
    }
    let capabilities: ServerCapabilities | undefined
    try {
      capabilities = await this.#discover(caller)
    } catch (problem) {
      // No evidence of another version: the earlier answer of the upstream holds.
      if (description) return { capabilities: description.capabilities }
      if (hasSessions) return this.#begin(caller)
      throw problem
    }
    if (!capabilities) {
      this.#descriptions.delete(key)
      return this.#begin(caller)
    }
    this.#hasSessionsUntilMs = 0
    this.#descriptions.set(key, { capabilities, untilMs: Date.now() + descriptionMs })
    return { capabilities }
  }

  /**
   * What an upstream without sessions offers; `undefined` for one with sessions.
   *
   * @throws McpError `unavailable` when its answer leaves that open
   */
  async #discover(caller: RemoteCaller): Promise<ServerCapabilities | undefined> {
    const call = { ...caller, method: 'server/discover', params: {}, mirrored: {} }
    const { response, match } = await this.#sendStateless(call)
    const message = match.kind === 'response' || match.kind === 'refusal' ? match.message : undefined
    if (message && 'result' in message && Array.isArray(message.result.supportedVersions)) {
      const { supportedVersions, capabilities } = message.result
      if (!supportedVersions.includes(date)) return undefined
      return isObject(capabilities) ? capabilities : {}
    }
    const code = message && 'error' in message ? message.error.code : undefined
    const isUnknown = code === errorTable.method_not_found.code || code === errorTable.invalid_request.code
    const isFailure = response.status === 500 || code === errorTable.internal_error.code
    if (temporary.has(response.status) || (isFailure && !isUnknown)) throw this.noAnswer(`HTTP ${response.status}`)
    return undefined
  }

  #sendOver({ session }: Connection, call: RemoteCall): Promise<Answered> {
    return session ? this.#sendInSession(session, call) : this.#sendStateless(call)
  }

  async #sendStateless(call: RemoteCall): Promise<Answered> {
    const { method, params, capabilities, mirrored } = call
    const id = newRequestId()
    const message = { id, method, params: enveloped(params, date, { capabilities, client: clientInfo }) }
    const response = await this.#post(message, call, { ...mirrored, ...requestHeaders(date, method, params) })
    return { response, match: await matchResponse(response, id, call.signal) }
  }

  async #sendInSession(session: UpstreamSession, call: RemoteCall): Promise<Answered> {
    const { method, params, signal } = call
    const id = newRequestId()
    const headers = sessionHeaders(session)
    const peer = { ...this.#peer(call, headers), resume: (after: string) => this.#resume(after, call, headers) }
    try {
      const response = await this.#post({ id, method, params }, call, headers)
      const match = await matchResponse(response, id, signal, peer)
      this.#sessions.release(session)
      return { response, match }
    } catch (problem) {
      const release = () => this.#sessions.release(session)
      if (signal.aborted) this.#platform.waitUntil(this.#cancel(id, call, headers).finally(release))
      else release()
      throw problem
    }
  }

  /**
   * Continues a stream that ended before its response.
   *
   * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery
   */
  #resume(lastEventId: string, caller: RemoteCaller, session: Readonly<Record<string, string>>): Promise<Response> {
    const own = { Accept: 'text/event-stream', 'Last-Event-ID': lastEventId, ...session }
    return this.#platform.fetch(this.url, {
      method: 'GET',
      redirect: 'manual',
      signal: caller.signal,
      headers: withProtocolHeaders(caller.headers, own),
    })
  }

  /**
   * Tells the upstream that nobody waits for a response any more. It may be too late for that, so no failure counts.
   *
   * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation
   */
  #cancel(requestId: string, caller: RemoteCaller, session: Readonly<Record<string, string>>): Promise<void> {
    const reason = isTimeout(caller.signal) ? 'The request timed out' : 'The caller cancelled the request'
    return this.#notify({ method: 'notifications/cancelled', params: { requestId, reason } }, caller, session)
  }

  /** Answers requests of the upstream: this client declares no capabilities, so it knows `ping` alone. */
  #peer(caller: RemoteCaller, session: Readonly<Record<string, string>>): Peer {
    return {
      onRequest: ({ id, method }: RequestMessage) => {
        const error = { code: errorTable.method_not_found.code, message: `Method not found: ${method}` }
        const answer = method === 'ping' ? { result: {} } : { error }
        this.#platform.waitUntil(this.#notify({ id, ...answer }, caller, session))
      },
    }
  }

  /** Sends a message that has no response, also when the caller has gone. Never rejects. */
  async #notify(message: object, caller: RemoteCaller, session: Readonly<Record<string, string>>): Promise<void> {
    const sender = { ...caller, signal: AbortSignal.timeout(endTimeoutMs) }
    await this.#post(message, sender, session)
      .then((response) => response.body?.cancel())
      .catch(() => {})
  }

  /**
   * Begins the caller's session, unless another request does so: then waits for that one. A Worker must not await the promises of
   * other requests, so it looks for the session again and again.
   */
  async #begin(caller: RemoteCaller): Promise<Connection> {
    const { sessionKey, signal } = caller
    while (Date.now() < (this.#handshakes.get(sessionKey) ?? 0)) {
      await new Promise((resolve) => setTimeout(resolve, handshakePollMs))
      signal.throwIfAborted()
      const session = this.#sessions.acquire(sessionKey)
      if (session) return { capabilities: session.capabilities, session }
    }
    const untilMs = Date.now() + handshakeMs
    this.#handshakes.set(sessionKey, untilMs)
    try {
      const session = await this.#initialize(caller)
      return { capabilities: session.capabilities, session }
    } finally {
      if (this.#handshakes.peek(sessionKey) === untilMs) this.#handshakes.delete(sessionKey)
    }
  }

  /** @returns a session that one request uses */
  async #initialize(caller: RemoteCaller): Promise<UpstreamSession> {
    const id = newRequestId()
    const params = { protocolVersion: newestSession, capabilities: {}, clientInfo }
    const response = await this.#post({ id, method: 'initialize', params }, caller, {})
    const sessionId = response.headers.get('Mcp-Session-Id')
    const peer = this.#peer(caller, sessionId === null ? {} : { 'Mcp-Session-Id': sessionId })
    const result = this.#resultOf(await matchResponse(response, id, caller.signal, peer), 'initialize', false)
    const { protocolVersion, capabilities } = result as Result // initialize does not ask for input
    const session: UpstreamSession = {
      id: sessionId,
      version: String(protocolVersion),
      capabilities: isObject(capabilities) ? capabilities : {},
      headers: caller.headers,
      uses: 1,
      usedAtMs: Date.now(),
      isRetired: false,
    }
    try {
      const accepted = await this.#post({ method: 'notifications/initialized' }, caller, sessionHeaders(session))
      await accepted.body?.cancel()
    } catch (problem) {
      this.#end(session)
      throw problem
    }
    this.#sessions.add(caller.sessionKey, session)
    this.#hasSessionsUntilMs = Date.now() + descriptionMs
    return session
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
    throw isRedirect ? this.#redirected(response) : this.noAnswer(`HTTP ${response.status}`)
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
    if (match.kind === 'too large') {
      throw new McpError(
        'unavailable',
        `The server at ${this.#host} answered ${method} with more than ${maxAnswerBytes} bytes, which proxy() does not read: let it answer in parts`,
      )
    }
    if (match.kind === 'none') throw new McpError('unavailable', `The server at ${this.#host} gave no answer`)
    if ('result' in match.message) return readResult(method, match.message.result, canBeAsked, this.#host)
    const { code, message, data } = match.message.error
    throw new McpError(kindOf(code, method), message, data)
  }

  noAnswer(reason: string): McpError {
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

const isTimeout = ({ reason }: AbortSignal): boolean => reason instanceof Error && reason.name === 'TimeoutError'

const descriptionKey = ({ headers }: RemoteCaller): string => JSON.stringify(headers)

/**
 * Has the upstream refused the POST without a look at the request? One that has restarted answers 404 for a session that it does
 * not know, or 400 without the id of the request. One that has sessions now answers that to requests without one.
 */
function isRefusedUnseen({ session }: Connection, { response: { status }, match: { kind } }: Answered): boolean {
  if (session?.id === null) return false
  if (status === 404 && session) return true
  return kind !== 'response' && (status === 400 || status === 404)
}

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
