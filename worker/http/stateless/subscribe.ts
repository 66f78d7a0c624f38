/** `subscriptions/listen`: a stream of change notifications for a client without a session. */
import { McpError } from '../../protocol/errors.ts'
import type { RequestMessage } from '../../protocol/jsonrpc.ts'
import type { AcceptedTypes } from '../accept.ts'
import type { Access } from '../access.ts'
import type { Host, Listen } from '../host.ts'
import { openRelay } from '../relay.ts'

/**
 * Answers with the event stream of the Durable Object that sends the changes.
 *
 * @throws McpError `not_acceptable`, `invalid_params` for an invalid filter, `too_many_requests`
 */
export async function openSubscription(
  message: RequestMessage,
  listen: Listen,
  accept: AcceptedTypes,
  { principal, address }: Access,
  host: Host,
): Promise<Response> {
  if (!accept.stream) throw new McpError('not_acceptable', 'Accept must include text/event-stream')
  const stream = await listen(message, principal, address)
  const response = await openRelay({ ...host.limits, ...stream })
  if (response.status !== 200) throw stream.rejection
  if (stream.onOpened) host.waitUntil(stream.onOpened().catch(host.report))
  return response
}
