/** How requests reach an upstream: in the newest stateless protocol version that both support, else in sessions. */

import { preview } from '../../../declarations/check-options.ts'
import { BoundedMap } from '../../../protocol/bounded-map.ts'
import * as bounds from '../../../protocol/bounds.ts'
import { errorTable } from '../../../protocol/errors.ts'
import { isObject } from '../../../protocol/jsonrpc.ts'
import { negotiateVersion } from '../../../protocol/negotiate-version.ts'
import { newestCommon, newestRevision, sessionRevisions } from '../../../protocol/revisions/index.ts'
import type { Result } from '../../../protocol/types.ts'
import { resultOf, tooLarge } from './check-results.ts'
import { maxKeyCharacters } from './listed-ids.ts'
import { matchResponse } from './match-response.ts'
import { type Offered, offeredIn } from './offered.ts'
import { clientInfo, newRequestId, type RemoteCaller, sendStateless } from './send-request.ts'
import { httpError, invalidResult } from './upstream-errors.ts'
import { sessionHeaders, type UpstreamHttp } from './upstream-http.ts'
import { headersKey, type UpstreamSession, UpstreamSessions } from './upstream-sessions.ts'

/** How a request reaches the upstream: in a session, which the request uses and releases, or without one. */
export type Connection = {
  readonly offered: Offered
  /** The date of the protocol version. */
  readonly version: string
  readonly session?: UpstreamSession
}

/** A connection without a session, and until when it is cached. */
type Description = Connection & { readonly untilMs: number }

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

const inSession = (session: UpstreamSession): Connection => ({
  offered: session.offered,
  version: session.version,
  session,
})

/** Returns the versions that the data of an error `unsupported_version` lists. */
const versionsIn = (data: unknown): readonly unknown[] =>
  isObject(data) && Array.isArray(data.supported) ? data.supported : []

export class Connections {
  readonly sessions: UpstreamSessions
  readonly #http: UpstreamHttp
  /** By the developer's headers: what an upstream offers can depend on the credential. */
  readonly #descriptions = new BoundedMap<string, Description>({ maxEntries: maxDescriptions, maxKeyCharacters })
  /** The date of the stateless protocol version in which the upstream is asked first. */
  #version = newestRevision.date
  /** Until then the upstream counts as one with sessions. */
  #hasSessionsUntilMs = 0
  /** By session key and headers: when a running handshake counts as lost. */
  readonly #handshakes = new BoundedMap<string, number>({ maxEntries: maxDescriptions, maxKeyCharacters })

  constructor(http: UpstreamHttp) {
    this.#http = http
    this.sessions = new UpstreamSessions((session) => http.endSession(session))
  }

  /** Deletes a connection over which the upstream refuses requests: it may have restarted, and may speak other versions now. */
  delete(caller: RemoteCaller, { session }: Connection): void {
    if (session) this.sessions.delete(caller.sessionKey, session)
    else this.#descriptions.delete(headersKey(caller.headers))
  }

  /** @throws McpError see `Remote.request` */
  async connect(caller: RemoteCaller): Promise<Connection> {
    const session = this.sessions.acquire(caller.sessionKey, caller.headers)
    if (session) return inSession(session)
    const key = headersKey(caller.headers)
    const description = this.#descriptions.get(key)
    if (description && Date.now() < description.untilMs) return description
    const hasSessions = this.#hasSessionsUntilMs > 0
    if (Date.now() < this.#hasSessionsUntilMs) {
      const connection = await this.#begin(caller).catch(() => undefined)
      if (connection) return connection
      // The upstream may have no sessions any more.
      this.#hasSessionsUntilMs = 0
    }
    let discovered: Connection | undefined
    try {
      discovered = await this.#discover(caller)
    } catch (problem) {
      // No evidence of another version: the earlier answer of the upstream holds.
      if (description) return description
      if (hasSessions) return this.#begin(caller)
      throw problem
    }
    if (!discovered) {
      this.#descriptions.delete(key)
      return this.#begin(caller)
    }
    this.#hasSessionsUntilMs = 0
    this.#version = discovered.version
    this.#descriptions.set(key, { ...discovered, untilMs: Date.now() + descriptionMs })
    return discovered
  }

  /**
   * Describes an upstream without sessions; `undefined` for one with sessions.
   *
   * @param version in which the upstream is asked. If it does not support that, the newest one that both support
   *
   * @throws McpError `unavailable` when the response leaves that open, or is too large
   */
  async #discover(caller: RemoteCaller, version = this.#version): Promise<Connection | undefined> {
    // What the answer says holds for other callers, too: nothing that a client chooses may be in the request.
    const own = { capabilities: {}, method: 'server/discover', params: {}, mirrored: {}, isSafeToRetry: true }
    const call = { ...caller, ...own }
    const { response, match } = await sendStateless(this.#http, version, call)
    if (match.kind === 'too large') throw tooLarge(this.#http.host, own.method, match)
    const message = match.kind === 'response' || match.kind === 'refusal' ? match.message : undefined
    if (message && 'result' in message && Array.isArray(message.result.supportedVersions)) {
      const { capabilities, supportedVersions } = message.result
      const common = newestCommon(supportedVersions)
      return common && { offered: offeredIn(capabilities), version: common.date }
    }
    const other = message && 'error' in message ? newestCommon(versionsIn(message.error.data)) : undefined
    if (other && version === this.#version && version !== other.date) return this.#discover(caller, other.date)
    const code = message && 'error' in message ? message.error.code : undefined
    const isUnknown = code === errorTable.method_not_found.code || code === errorTable.invalid_request.code
    const isFailure = response.status === 500 || code === errorTable.internal_error.code
    if (temporary.has(response.status) || (isFailure && !isUnknown)) throw httpError(this.#http.host, response)
    return undefined
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
      const session = this.sessions.acquire(sessionKey, headers)
      if (session) return inSession(session)
    }
    const untilMs = Date.now() + handshakeMs
    this.#handshakes.set(key, untilMs)
    try {
      return inSession(await this.#initialize(caller))
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
    const match = await matchResponse(response, id, caller.signal, caller.received, peer)
    const result = resultOf({ response, match }, 'initialize', false, this.#http.host)
    const { protocolVersion, capabilities } = result as Result // initialize does not ask for input
    if (sessionId !== null && sessionId.length > bounds.sessionIdCharacters) {
      const reason = `the id of the session must have at most ${bounds.sessionIdCharacters} characters`
      throw invalidResult(this.#http.host, 'initialize', reason)
    }
    const isKnown = sessionRevisions.some((revision) => revision.date === protocolVersion)
    const session: UpstreamSession = {
      id: sessionId,
      version: isKnown ? String(protocolVersion) : newestSession,
      offered: offeredIn(capabilities),
      headers: caller.headers,
      uses: 1,
      usedAtMs: Date.now(),
      isRetired: false,
    }
    try {
      if (!isKnown) {
        const known = sessionRevisions.map((revision) => revision.date).join(', ')
        const reason = `the protocol version ${preview(protocolVersion)} is not one of ${known}`
        throw invalidResult(this.#http.host, 'initialize', reason)
      }
      const accepted = await this.#http.post({ method: 'notifications/initialized' }, caller, sessionHeaders(session))
      await accepted.body?.cancel()
    } catch (problem) {
      this.#http.endSession(session)
      throw problem
    }
    this.sessions.add(caller.sessionKey, session)
    this.#hasSessionsUntilMs = Date.now() + descriptionMs
    return session
  }
}
