/** Sends one request to an upstream, and finds its response. */

import type { Received } from '../../../client/received.ts'
import { isTimeoutError } from '../../../client/request-guard.ts'
import { ToolError } from '../../../protocol/errors.ts'
import type { NotificationMessage } from '../../../protocol/jsonrpc.ts'
import { metaOf } from '../../../protocol/meta.ts'
import { enveloped, requestHeaders } from '../../../protocol/stateless-request.ts'
import {
  type ClientCapabilities,
  type LogLevel,
  logLevels,
  type Params,
  type RequestId,
} from '../../../protocol/types.ts'
import type { AnnouncedList } from './announce-change.ts'
import type { Answered } from './check-results.ts'
import { matchResponse } from './match-response.ts'
import { type Sender, sessionHeaders, type UpstreamHttp } from './upstream-http.ts'
import type { UpstreamSession } from './upstream-sessions.ts'

/** The caller that a request is sent for. */
export type RemoteCaller = Sender & {
  /** Names the caller to the circuit breaker: see `partyOf`. */
  readonly party: string
  /** Requests with the same key and the same headers share an upstream session. */
  readonly sessionKey: string
  /** Capabilities of the client. In a session of the upstream, no input request can be answered. */
  readonly capabilities: ClientCapabilities
  /** Counts the bytes and the values of the responses to its POST, also those of handshakes. */
  readonly received: Received
}

export type RemoteCall = RemoteCaller & {
  readonly method: string
  readonly params: Params
  /** Headers that repeat arguments, for an upstream without sessions. */
  readonly mirrored: Readonly<Record<string, string>>
  /** Whether the request may be sent again after a failure. */
  readonly isSafeToRetry: boolean
  /** Receives progress and log messages of the upstream. Default: they are not requested. */
  readonly listener?: Listener | undefined
}

/** Receives what an upstream sends during a request. */
export type Listener = {
  /** Whether progress notifications are requested. */
  readonly wantsProgress: boolean
  /** Least severe level of the log messages that are requested; `undefined`: none. */
  readonly logLevel: LogLevel | undefined
  readonly onProgress: (params: Params) => void
  readonly onLog: (params: Params) => void
  readonly onListChanged: (list: AnnouncedList) => void
}

/** Characters of headers that repeat arguments: platforms bound all headers together, such as Cloudflare by 128 KB. */
const maxMirroredCharacters = 65_536

export const clientInfo = { name: 'edgemcp', version: '1' }

/**
 * @param version the date of the protocol version
 * @throws ToolError for arguments that make too many headers
 */
export async function sendStateless(http: UpstreamHttp, version: string, call: RemoteCall): Promise<Answered> {
  const { method, params, capabilities, mirrored, listener, signal, received } = call
  if (Object.entries(mirrored).flat().join('').length > maxMirroredCharacters) {
    throw new ToolError(
      `The arguments that headers repeat make more than ${maxMirroredCharacters} characters: send less`,
    )
  }
  const id = newRequestId()
  const logLevel = listener?.logLevel
  const envelope = { capabilities, client: clientInfo, ...(logLevel && { logLevel }) }
  const message = { id, method, params: enveloped(withProgressToken(params, id, listener), version, envelope) }
  const response = await http.post(message, call, { ...mirrored, ...requestHeaders(version, method, params) })
  return { response, match: await matchResponse(response, id, signal, received, notified(id, listener)) }
}

/** @param whenCancelled gets the work of notifying the upstream that the request is cancelled */
export async function sendInSession(
  http: UpstreamHttp,
  session: UpstreamSession,
  call: RemoteCall,
  whenCancelled: (notified: Promise<void>) => void,
): Promise<Answered> {
  const { method, params, signal, listener, received } = call
  const id = newRequestId()
  const headers = sessionHeaders(session)
  const peer = {
    ...http.peer(call, headers),
    ...notified(id, listener),
    resume: (after: string) => http.resume(after, call, headers),
  }
  try {
    await setLogLevel(http, session, call)
    const response = await http.post({ id, method, params: withProgressToken(params, id, listener) }, call, headers)
    return { response, match: await matchResponse(response, id, signal, received, peer) }
  } catch (problem) {
    if (signal.aborted || isTimeoutError(problem)) whenCancelled(http.cancel(id, call, headers))
    throw problem
  }
}

/**
 * Requests the log messages of a session that a call needs. A level is for the whole session, which callers may share, so it only changes to
 * a less severe one. A failure is ignored: the call itself finds out whether the session still exists.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/logging#setting-log-level
 */
async function setLogLevel(http: UpstreamHttp, session: UpstreamSession, call: RemoteCall): Promise<void> {
  const level = call.listener?.logLevel
  if (level === undefined || !session.offered.has('logging')) return
  if (session.logLevel !== undefined && logLevels.indexOf(session.logLevel) <= logLevels.indexOf(level)) return
  session.logLevel = level
  const message = { id: newRequestId(), method: 'logging/setLevel', params: { level } }
  try {
    const response = await http.post(message, call, sessionHeaders(session))
    await response.body?.cancel()
  } catch {
    delete session.logLevel
  }
}

/** Requests progress notifications under the id of the request, which no other request has. */
const withProgressToken = (params: Params, id: RequestId, listener: Listener | undefined): Params =>
  listener?.wantsProgress ? { ...params, _meta: { ...metaOf(params), progressToken: id } } : params

/** Passes the notifications of a request to its listener. Progress of other requests is ignored. */
const notified = (id: RequestId, listener: Listener | undefined) => ({
  onNotification: ({ method, params = {} }: NotificationMessage) => {
    if (method === 'notifications/message') listener?.onLog(params)
    const [, list] = /^notifications\/(tools|prompts|resources)\/list_changed$/.exec(method) ?? []
    if (list === 'tools' || list === 'prompts' || list === 'resources') listener?.onListChanged(list)
    if (method === 'notifications/progress' && params.progressToken === id) listener?.onProgress(params)
  },
})

let requestIdPrefix: string | undefined
let requestCount = 0

/** Returns an id that no other request to any upstream has, of this isolate or another one. */
export function newRequestId(): string {
  // A Worker has no randomness before its first request.
  requestIdPrefix ??= crypto.randomUUID()
  requestCount += 1
  return `${requestIdPrefix}-${requestCount}`
}
