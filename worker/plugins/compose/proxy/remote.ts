/**
 * An upstream MCP server, of which this server is a client: without sessions if the upstream supports the newest protocol version, else in
 * sessions.
 */

import { McpError } from '../../../protocol/errors.ts'
import type { Result, ServerCapabilities } from '../../../protocol/types.ts'
import { type Connection, Connections } from './connections.ts'
import { type Answered, type InputRequired, invalidResult, noAnswer, resultOf } from './results.ts'
import { type RemoteCall, type RemoteCaller, sendInSession, sendStateless } from './send-request.ts'
import { isTimeout, type RemotePlatform, UpstreamHttp } from './upstream-http.ts'

/** Statuses by which an upstream refuses a session. */
const sessionRefusals = new Set([401, 403, 404])

export class Remote {
  readonly #http: UpstreamHttp
  readonly #platform: RemotePlatform
  readonly #connections: Connections

  /** @param url absolute */
  constructor(url: string, platform: RemotePlatform) {
    this.#http = new UpstreamHttp(url, platform)
    this.#platform = platform
    this.#connections = new Connections(this.#http)
  }

  get host(): string {
    return this.#http.host
  }

  get url(): string {
    return this.#http.url
  }

  /** Returns the capabilities of the upstream. @throws McpError see `request` */
  async capabilities(caller: RemoteCaller): Promise<ServerCapabilities> {
    const { capabilities, session } = await this.#answering(caller, () => this.#connections.connect(caller))
    if (session) this.#connections.sessions.release(session)
    return capabilities
  }

  /** @throws McpError the error of the upstream, as far as there is a kind for it; `unavailable` without a response */
  request(call: RemoteCall): Promise<Result | InputRequired> {
    return this.#answering(call, async () => {
      const first = await this.#connections.connect(call)
      const answered = await this.#sendOver(first, call)
      if (!isRefusedUnseen(first, answered)) return this.#resultOf(answered, call, first)
      this.#connections.delete(call, first)
      const second = await this.#connections.connect(call)
      if (!first.session && !second.session) return this.#resultOf(answered, call, first)
      const again = await this.#sendOver(second, call)
      if (first.session && second.session && isRefusedUnseen(second, again)) {
        // It refuses the request, not the session.
        this.#connections.sessions.add(call.sessionKey, first.session)
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
    this.#connections.sessions.retire(sessionKey)
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

  async #sendOver({ session }: Connection, call: RemoteCall): Promise<Answered> {
    if (!session) return sendStateless(this.#http, call)
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
