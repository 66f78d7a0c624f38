/** The caller that a limit counts for. */

import type { Runtime } from '../../plugin.ts'
import { networkOf } from '../../protocol/ip-address.ts'
import { clientKey, ownerKey } from '../../protocol/principal.ts'
import type { IncomingRequest } from '../../request-hooks.ts'

/** `user`: all OAuth clients of a user are one caller. `client`: each is a caller of its own. */
export type CountedPer = 'user' | 'client'

/** Returns one text per caller or, without a principal, per network. Cloudflare sets the address, so clients cannot choose it. */
export function callerOf(
  { principal, request: { headers } }: IncomingRequest,
  { identity }: Pick<Runtime, 'identity'>,
  per: CountedPer,
): string {
  if (principal) return per === 'client' ? clientKey(principal, identity) : ownerKey(principal, identity)
  return JSON.stringify([identity, 'address', networkOf(headers.get('CF-Connecting-IP') ?? '')])
}
