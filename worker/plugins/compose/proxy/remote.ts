/**
 * An upstream MCP server, of which this server is a client: without sessions if the upstream supports the newest protocol version, else in
 * sessions.
 */

import { BoundedMap } from '../../../protocol/bounded-map.ts'
import { errorTable, McpError } from '../../../protocol/errors.ts'
import { isObject } from '../../../protocol/jsonrpc.ts'
import { negotiateVersion } from '../../../protocol/negotiate-version.ts'
import { newestStateless } from '../../../protocol/revisions/index.ts'
import { enveloped, requestHeaders } from '../../../protocol/stateless-request.ts'
import type { ClientCapabilities, Params, Result, ServerCapabilities } from '../../../protocol/types.ts'
import { type Answered, httpError, type InputRequired, invalidResult, noAnswer, resultOf } from './results.ts'
import { isTimeout, type RemotePlatform, type Sender, sessionHeaders, UpstreamHttp } from './upstream-http.ts'
import { matchResponse } from './upstream-response.ts'
import { headersKey, type UpstreamSession, UpstreamSessions } from './upstream-sessions.ts'

/** The caller that a request is sent for. */
export type RemoteCaller = Sender & {
  /** Requests with the same key and the same headers share an upstream session. */
  readonly sessionKey: string
  /** Capabilities of the client. In a session of the upstream, no input request can be answered. */
  readonly capabilities: ClientCapabilities
}

export type RemoteCall = RemoteCaller & {
  readonly method: string
  readonly params: Params
  /** Headers that repeat arguments, for an upstream without sessions. */
  readonly mirrored: Readonly<Record<string, string>>
}

/** The capabilities of an upstream, and until when they are cached. */
type Description = { readonly capabilities: ServerCapabilities; readonly untilMs: number }

/** How a request reaches the upstream: in a session, which the request uses and releases, or without one. */
type Connection = { readonly capabilities: ServerCapabilities; readonly session?: UpstreamSession }

const { date } = newestStateless
const clientInfo = { name: 'edgemcp', version: '1' }
const { date: newestSession } = negotiateVersion('')
/** Milliseconds after which the capabilities and the kind of an upstream are requested again. */
const descriptionMs = 60_000
/** Descriptions of one upstream: one for each set of headers. */
const maxDescriptions = 1000
/** Milliseconds to wait for a handshake of another request, and between two checks of it. */
const handshakeMs = 10_000
const handshakePollMs = 20
/** Statuses of refusals that do not reveal the protocol versions of an upstream. */
const temporary = new Set([401, 403, 407, 408, 425, 429, 502, 503, 504])

/** Statuses by which an upstream refuses a session. */
const sessionRefusals = new Set([401, 403, 404])

export class Remote {
  readonly #http: UpstreamHttp
  readonly #platform: RemotePlatform
  readonly #sessions: UpstreamSessions
  /** By the developer's headers: what an upstream offers can depend on the credential. */
  readonly #descriptions = new BoundedMap<string, Description>({ maxEntries: maxDescriptions })
  /** Until then the upstream counts as one with sessions. */
  #hasSessionsUntilMs = 0
  /** By session key and headers: when a running handshake counts as lost. */
  readonly #handshakes = new BoundedMap<string, number>({ maxEntries: maxDescriptions })

  /** @param url absolute */
  constructor(url: string, platform: RemotePlatform) {
    this.#http = new UpstreamHttp(url, platform)
    this.#platform = platform
    this.#sessions = new UpstreamSessions((session) => this.#http.endSession(session))
  }

  get url(): string {
    return this.#http.url
  }

  /** Returns the capabilities of the upstream. @throws McpError see `request` */
  async capabilities(caller: RemoteCaller): Promise<ServerCapabilities> {
    const { capabilities, session } = await this.#answering(caller, () => this.#connect(caller))
    if (session) this.#sessions.release(session)
    return capabilities
  }

  /** @throws McpError the error of the upstream, as far as there is a kind for it; `unavailable` without a response */
  request(call: RemoteCall): Promise<Result | InputRequired> {
    return this.#answering(call, async () => {
      const first = await this.#connect(call)
      const answered = await this.#sendOver(first, call)
      if (!isRefusedUnseen(first, answered)) return this.#resultOf(answered, call, first)
      // The upstream may have restarted, and may speak other versions now.
      if (first.session) this.#sessions.delete(call.sessionKey, first.session)
      else this.#descriptions.delete(headersKey(call.headers))
      const second = await this.#connect(call)
      if (!first.session && !second.session) return this.#resultOf(answered, call, first)
      const again = await this.#sendOver(second, call)
      if (first.session && second.session && isRefusedUnseen(second, again)) {
        // It refuses the request, not the session.
        this.#sessions.add(call.sessionKey, first.session)
      }
      return this.#resultOf(again, call, second)
    })
  }

  noAnswer(reason: string): McpError {
    return noAnswer(this.#http.host, reason)
  }

  /** Returns the error for a result that the protocol does not define. */
  invalidResult(method: string, reason: string): McpError {
    return invalidResult(this.#http.host, method, reason)
  }

  /** Returns an error for the log. @param problems of the omitted entries, in their order */
  invalidEntries(list: string, problems: readonly string[]): McpError {
    const reasons = [...new Set(problems)].slice(0, 3).join('; ')
    return new McpError(
      'unavailable',
      `The server at ${this.#http.host} has ${problems.length} invalid entries in ${list}, which proxy() leaves out: ${reasons}`,
    )
  }

  /** Ends the session with this key. */
  end(sessionKey: string): void {
    this.#sessions.retire(sessionKey)
  }

  /** @throws McpError `unavailable` for any other failure, unless the caller has disconnected */
  async #answering<T>({ signal }: RemoteCaller, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (problem) {
      const isGone = signal.aborted && !isTimeout(signal)
      throw isGone || problem instanceof McpError ? problem : this.noAnswer(String(problem))
    }
  }

  #resultOf(answered: Answered, { method }: RemoteCall, { session }: Connection): Result | InputRequired {
    return resultOf(answered, method, !session, this.#http.host)
  }

  async #connect(caller: RemoteCaller): Promise<Connection> {
    const session = this.#sessions.acquire(caller.sessionKey, caller.headers)
    if (session) return { capabilities: session.capabilities, session }
    const key = headersKey(caller.headers)
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
   * Returns the capabilities of an upstream without sessions; `undefined` for one with sessions.
   *
   * @throws McpError `unavailable` when the response leaves that open
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
    if (temporary.has(response.status) || (isFailure && !isUnknown)) throw httpError(this.#http.host, response)
    return undefined
  }

  #sendOver({ session }: Connection, call: RemoteCall): Promise<Answered> {
    return session ? this.#sendInSession(session, call) : this.#sendStateless(call)
  }

  async #sendStateless(call: RemoteCall): Promise<Answered> {
    const { method, params, capabilities, mirrored } = call
    const id = newRequestId()
    const message = { id, method, params: enveloped(params, date, { capabilities, client: clientInfo }) }
    const response = await this.#http.post(message, call, { ...mirrored, ...requestHeaders(date, method, params) })
    return { response, match: await matchResponse(response, id, call.signal) }
  }

  async #sendInSession(session: UpstreamSession, call: RemoteCall): Promise<Answered> {
    const { method, params, signal } = call
    const id = newRequestId()
    const headers = sessionHeaders(session)
    const peer = {
      ...this.#http.peer(call, headers),
      resume: (after: string) => this.#http.resume(after, call, headers),
    }
    try {
      const response = await this.#http.post({ id, method, params }, call, headers)
      const match = await matchResponse(response, id, signal, peer)
      this.#sessions.release(session)
      return { response, match }
    } catch (problem) {
      const release = () => this.#sessions.release(session)
      if (signal.aborted) this.#platform.waitUntil(this.#http.cancel(id, call, headers).finally(release))
      else release()
      throw problem
    }
  }

  /**
   * Starts the session of the caller or, if another request already does so, waits for it. A Worker must not await promises of other
   * requests, so it polls.
   */
  async #begin(caller: RemoteCaller): Promise<Connection> {
    const { sessionKey, headers, signal } = caller
    const key = JSON.stringify([sessionKey, headersKey(headers)])
    while (Date.now() < (this.#handshakes.get(key) ?? 0)) {
      await new Promise((resolve) => setTimeout(resolve, handshakePollMs))
      signal.throwIfAborted()
      const session = this.#sessions.acquire(sessionKey, headers)
      if (session) return { capabilities: session.capabilities, session }
    }
    const untilMs = Date.now() + handshakeMs
    this.#handshakes.set(key, untilMs)
    try {
      const session = await this.#initialize(caller)
      return { capabilities: session.capabilities, session }
    } finally {
      if (this.#handshakes.peek(key) === untilMs) this.#handshakes.delete(key)
    }
  }

  /** @returns a session that one request uses */
  async #initialize(caller: RemoteCaller): Promise<UpstreamSession> {
    const id = newRequestId()
    const params = { protocolVersion: newestSession, capabilities: {}, clientInfo }
    const response = await this.#http.post({ id, method: 'initialize', params }, caller, {})
    const sessionId = response.headers.get('Mcp-Session-Id')
    const peer = this.#http.peer(caller, sessionId === null ? {} : { 'Mcp-Session-Id': sessionId })
    const match = await matchResponse(response, id, caller.signal, peer)
    const result = resultOf({ response, match }, 'initialize', false, this.#http.host)
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
      const accepted = await this.#http.post({ method: 'notifications/initialized' }, caller, sessionHeaders(session))
      await accepted.body?.cancel()
    } catch (problem) {
      this.#http.endSession(session)
      throw problem
    }
    this.#sessions.add(caller.sessionKey, session)
    this.#hasSessionsUntilMs = Date.now() + descriptionMs
    return session
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

/**
 * Whether the upstream rejected the POST before it read the request. An upstream that has restarted answers 404 for an unknown session, or
 * 400 without the id of the request. An upstream with sessions answers the same to requests without one. It answers 401 or 403 where the
 * session belongs to credentials that were replaced.
 */
function isRefusedUnseen({ session }: Connection, { response: { status }, match: { kind } }: Answered): boolean {
  if (session?.id === null) return false
  if (session && sessionRefusals.has(status)) return true
  return kind !== 'response' && (status === 400 || status === 404)
}
