/**
 * An upstream MCP server, of which this server is a client: without sessions if the upstream supports the newest protocol version, else in
 * sessions.
 */

import {
  errorAnswer,
  type Failure,
  failureOfStatus,
  fetchWithin,
  type GuardedRequest,
  isTimeoutError,
  RequestGuard,
  type Resilience,
} from '../../../client/request-guard.ts'
import { wait } from '../../../engine/wait.ts'
import { errorTable, McpError, ToolError } from '../../../protocol/errors.ts'
import type { Result } from '../../../protocol/types.ts'
import { type Answered, type InputRequired, resultOf } from './check-results.ts'
import { type Connection, Connections } from './connections.ts'
import { SlowResponse } from './match-response.ts'
import type { Offered } from './offered.ts'
import { OptionError } from './option-error.ts'
import { type RemoteCall, type RemoteCaller, sendInSession, sendStateless } from './send-request.ts'
import { invalidResult, noAnswer, UpstreamFailure } from './upstream-errors.ts'
import { isTimeout, type RemotePlatform, UpstreamHttp } from './upstream-http.ts'

/** Statuses by which an upstream refuses a session. */
const sessionRefusals = new Set([401, 403, 404])

export class Remote {
  readonly #http: UpstreamHttp
  readonly #platform: RemotePlatform
  readonly #connections: Connections
  readonly #guard: RequestGuard
  /** Why a round of a call has no connection, by its headers: each round has an object of its own. */
  readonly #unconnected = new WeakMap<RemoteCaller['headers'], unknown>()

  /** @param url absolute */
  constructor(url: string, platform: RemotePlatform, resilience: Resilience) {
    const fetch = fetchWithin(sending(platform.fetch, `the proxy of "${url}"`), resilience.attemptTimeoutMs)
    this.#http = new UpstreamHttp(url, { ...platform, fetch })
    this.#platform = platform
    this.#guard = new RequestGuard(this.#http.host, resilience)
    this.#connections = new Connections(this.#http)
  }

  get host(): string {
    return this.#http.host
  }

  get url(): string {
    return this.#http.url
  }

  /** Returns what the upstream offers to a caller. @throws McpError see `request` */
  async offered(caller: RemoteCaller): Promise<Offered> {
    const connect = () => this.#connections.connect(caller)
    // The connection may exist already, so it proves nothing.
    const { offered, session } = await this.#guarded(caller, connect, {
      isSafeToRetry: () => true,
      isProof: false,
      isConnected: () => false,
    })
    if (session) this.#connections.sessions.release(session)
    return offered
  }

  /** @throws McpError the error of the upstream, as far as there is a kind for it; `unavailable` without a response */
  request(call: RemoteCall): Promise<Result | InputRequired> {
    let isSent = false
    const send = async () => {
      const connection = await this.#connections.connect(call)
      isSent = true
      return this.#request(call, connection)
    }
    // A failed handshake has sent nothing yet.
    return this.#guarded(call, send, {
      isSafeToRetry: () => call.isSafeToRetry || !isSent,
      isConnected: () => isSent,
    })
  }

  async #request(call: RemoteCall, first: Connection): Promise<Result | InputRequired> {
    const answered = await this.#sendOver(first, call)
    // The id of the request shows that the upstream has read it, or only its session. The request must not be sent twice.
    const isRefused = isRefusedUnseen(first, answered)
    if (!isRefused || (answered.match.kind === 'response' && !(await this.#refusesSession(first, call)))) {
      return this.#resultOf(answered, call, first)
    }
    this.#connections.delete(call, first)
    const second = await this.#connections.connect(call)
    if (!first.session && !second.session) return this.#resultOf(answered, call, first)
    const again = await this.#sendOver(second, call)
    if (first.session && second.session && isRefusedUnseen(second, again)) {
      // It refuses the request, not the session.
      this.#connections.sessions.add(call.sessionKey, first.session)
    }
    return this.#resultOf(again, call, second)
  }

  /** Whether the upstream refuses a harmless request of the session, too. */
  async #refusesSession({ session }: Connection, call: RemoteCall): Promise<boolean> {
    if (!session) return false
    const ping = { ...call, method: 'ping', params: {}, listener: undefined }
    const answered = await sendInSession(this.#http, session, ping, () => {}).catch(() => undefined)
    if (!answered || !sessionRefusals.has(answered.response.status)) return false
    const message = answered.match.kind === 'response' ? answered.match.message : undefined
    // An upstream without this method, which the protocol requires, does not refuse the session.
    return !(message && 'error' in message && message.error.code === errorTable.method_not_found.code)
  }

  /**
   * Does not try to connect again in a round in which that has failed: a call has several steps.
   *
   * @param terms `isConnected`: whether an attempt had a connection
   */
  async #guarded<T>(
    caller: RemoteCaller,
    work: () => Promise<T>,
    { isConnected, ...terms }: Pick<GuardedRequest, 'isSafeToRetry' | 'isProof'> & { isConnected: () => boolean },
  ): Promise<T> {
    const { headers, signal, untilMs } = caller
    if (this.#unconnected.has(headers)) throw this.#unconnected.get(headers)
    try {
      return await this.#guard.run(() => this.#answering(caller, work), {
        ...terms,
        caller: caller.party,
        untilMs,
        failureOf: (problem) => failureIn(problem, signal),
        wait: (ms) => wait(ms, signal),
      })
    } catch (problem) {
      // Another step may have more time.
      if (!isConnected() && !signal.aborted) this.#unconnected.set(headers, problem)
      throw problem
    }
  }

  noAnswer(reason: string, cause?: unknown): McpError {
    return noAnswer(this.#http.host, reason, cause)
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

  /** Returns an error for the log. */
  longList(list: string, pages: number, entries: number): McpError {
    return new McpError(
      'unavailable',
      `The server at ${this.#http.host} has more than ${pages} pages or ${entries} entries in ${list}: proxy() leaves the others out`,
    )
  }

  /** Ends the session with this key. */
  end(sessionKey: string): void {
    this.#connections.sessions.retire(sessionKey)
  }

  /** @throws McpError `unavailable` for any other failure, unless the caller has disconnected or nothing was sent */
  async #answering<T>({ signal }: RemoteCaller, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (problem) {
      const isGone = signal.aborted && !isTimeout(signal)
      const isUnsent = problem instanceof OptionError || problem instanceof ToolError
      if (isGone || isUnsent || problem instanceof McpError) throw problem
      if (problem instanceof SlowResponse) throw this.#unfinished(problem)
      throw this.noAnswer(isTimeoutError(problem) ? 'timed out' : 'no response', problem)
    }
  }

  /** Returns the error for a response that started. It is an answer, unless its status says otherwise. */
  #unfinished({ status, cause }: SlowResponse): McpError {
    const message = `The server at ${this.#http.host} did not complete its response in time`
    const failure = new UpstreamFailure(message, failureOfStatus(status), { reason: 'timed out' })
    failure.cause = cause
    return failure
  }

  #resultOf(answered: Answered, { method }: RemoteCall, { session }: Connection): Result | InputRequired {
    return resultOf(answered, method, !session, this.#http.host)
  }

  async #sendOver({ session, version }: Connection, call: RemoteCall): Promise<Answered> {
    if (!session) return sendStateless(this.#http, version, call)
    const release = () => this.#connections.sessions.release(session)
    let cancelling: Promise<void> | undefined
    try {
      return await sendInSession(this.#http, session, call, (notified) => {
        cancelling = notified
      })
    } finally {
      if (cancelling) this.#platform.waitUntil(cancelling.finally(release))
      else release()
    }
  }
}

/** Returns the same `fetch` with another error for its own mistakes, such as a binding that is missing. @param what names the proxy */
function sending(fetch: RemotePlatform['fetch'], what: string): RemotePlatform['fetch'] {
  return async (url, init) => {
    let response: Promise<Response> | undefined
    try {
      response = fetch(url, init)
      return await response
    } catch (problem) {
      const isMistake = !response || isOwnMistake(problem)
      throw isMistake && !init.signal?.aborted ? new OptionError('fetch', what, problem) : problem
    }
  }
}

/**
 * Whether code of this Worker threw an error, before it sent anything. Errors of connections and of other Workers are `remote`; those of
 * `fetch` in Node.js have a cause.
 */
const isOwnMistake = (problem: unknown): boolean =>
  (problem instanceof TypeError || problem instanceof ReferenceError) &&
  !('remote' in problem && problem.remote) &&
  problem.cause === undefined

/** @param signal of the caller */
function failureIn(problem: unknown, signal: AbortSignal): Failure | undefined {
  if (problem instanceof UpstreamFailure) return problem.failure
  return problem instanceof McpError && !signal.aborted ? errorAnswer : undefined
}

/**
 * Whether the upstream may have rejected the POST before it read the request. An upstream that has restarted answers 404 for an unknown session, or
 * 400 without the id of the request. An upstream with sessions answers the same to requests without one. It answers 401 or 403 where the
 * session belongs to credentials that were replaced.
 */
function isRefusedUnseen({ session }: Connection, { response: { status }, match: { kind } }: Answered): boolean {
  if (session?.id === null) return false
  if (kind === 'too large') return false
  if (session && sessionRefusals.has(status)) return true
  return kind !== 'response' && (status === 400 || status === 404)
}
