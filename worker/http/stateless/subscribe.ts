/** `subscriptions/listen`: a stream of change notifications for a client without a session. */
import { callerContextOf } from '../../engine/caller.ts'
import { type AcceptedTypes, requireStream } from '../accept.ts'
import type { Access } from '../access.ts'
import { type Host, type Listen, sealsOf } from '../host.ts'
import { openRelay } from '../relay.ts'
import type { StatelessCall } from './read.ts'

/**
 * Answers with the event stream of the Durable Object that sends the changes.
 *
 * @throws McpError `not_acceptable`, `invalid_params` for an invalid filter, `too_many_requests`
 */
export async function openSubscription(
  { message, call }: StatelessCall,
  request: Request,
  listen: Listen,
  accept: AcceptedTypes,
  { principal, address, credential }: Access,
  host: Host,
): Promise<Response> {
  requireStream(accept)
  const caller = callerContextOf(call, {
    signal: () => request.signal,
    seals: sealsOf(host, principal),
    state: { object: host.state, session: undefined },
  })
  const stream = await listen(message, call.revision, caller, address)
  const onEnd = () => {
    if (stream.onClosed) host.waitUntil(stream.onClosed().catch(host.report))
  }
  const response = await openRelay({ ...host.limits, ...stream, credential, onEnd })
  if (response.status !== 200) {
    onEnd()
    throw stream.rejection
  }
  if (stream.onOpened) host.waitUntil(stream.onOpened().catch(host.report))
  return response
}
