/** How many streams of `subscriptions/listen` a caller may open: a principal, or the network of an address. */
import { anonymousListener, type SubscriptionsOptions } from '../../../durable-objects/subscriptions/object.ts'
import { encodeBase64 } from '../../protocol/base64.ts'
import { tooManyRequests } from '../../protocol/errors.ts'
import { networkOf } from '../../protocol/ip-address.ts'
import { ownerKey, type Principal } from '../../protocol/principal.ts'
import { utf8 } from '../../protocol/utf8.ts'

/** Seconds after which a client may retry: an estimate, because it is unknown when an open stream will end. */
const retryAfterSeconds = 60

/** Returns the number of streams that a caller may open. */
export const maxStreamsOf = (principal: Principal | undefined, options: SubscriptionsOptions): number =>
  principal ? options.listenersEach : options.listenersPerAddress

/** Returns a text for the caller of a stream: a user of an endpoint, or a network; empty without both. */
export async function listenerOf(
  principal: Principal | undefined,
  identity: string,
  address: string | undefined,
): Promise<string> {
  if (!principal) return address ? `${anonymousListener}${networkOf(address)}` : ''
  // Short, and different for each user, whatever length its claims have.
  return encodeBase64(new Uint8Array(await crypto.subtle.digest('SHA-256', utf8(ownerKey(principal, identity)))))
}

export const tooManyStreams = () =>
  tooManyRequests(
    `Too many subscription streams are open: close one, or wait ${retryAfterSeconds} seconds, then try again`,
    retryAfterSeconds,
    'listeners',
  )
