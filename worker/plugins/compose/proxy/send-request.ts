/** Sends one request to an upstream, and finds its response. */

import { newestStateless } from '../../../protocol/revisions/index.ts'
import { enveloped, requestHeaders } from '../../../protocol/stateless-request.ts'
import type { ClientCapabilities, Params } from '../../../protocol/types.ts'
import type { Answered } from './results.ts'
import { type Sender, sessionHeaders, type UpstreamHttp } from './upstream-http.ts'
import { matchResponse } from './upstream-response.ts'
import type { UpstreamSession } from './upstream-sessions.ts'

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

const { date } = newestStateless
export const clientInfo = { name: 'edgemcp', version: '1' }

export async function sendStateless(http: UpstreamHttp, call: RemoteCall): Promise<Answered> {
  const { method, params, capabilities, mirrored } = call
  const id = newRequestId()
  const message = { id, method, params: enveloped(params, date, { capabilities, client: clientInfo }) }
  const response = await http.post(message, call, { ...mirrored, ...requestHeaders(date, method, params) })
  return { response, match: await matchResponse(response, id, call.signal) }
}

/** @param whenCancelled gets the work of notifying the upstream that the request is cancelled */
export async function sendInSession(
  http: UpstreamHttp,
  session: UpstreamSession,
  call: RemoteCall,
  whenCancelled: (notified: Promise<void>) => void,
): Promise<Answered> {
  const { method, params, signal } = call
  const id = newRequestId()
  const headers = sessionHeaders(session)
  const peer = {
    ...http.peer(call, headers),
    resume: (after: string) => http.resume(after, call, headers),
  }
  try {
    const response = await http.post({ id, method, params }, call, headers)
    return { response, match: await matchResponse(response, id, signal, peer) }
  } catch (problem) {
    if (signal.aborted) whenCancelled(http.cancel(id, call, headers))
    throw problem
  }
}

let requestIdPrefix: string | undefined
let requestCount = 0

/** Returns an id that no other request to any upstream has, of this isolate or another one. */
export function newRequestId(): string {
  // A Worker has no randomness before its first request.
  requestIdPrefix ??= crypto.randomUUID()
  requestCount += 1
  return `${requestIdPrefix}-${requestCount}`
}
