/** The caller that a limit counts for. */

import { networkOf } from '../../protocol/ip-address.ts'
import { principalKey } from '../../protocol/principal.ts'
import type { IncomingRequest } from '../../request-hooks.ts'

/** Returns one text per principal or, without one, per IP address. Cloudflare sets the address, so clients cannot choose it. */
export function callerOf({ principal, request: { headers } }: IncomingRequest): string {
  if (principal) return principalKey(principal)
  return `address ${networkOf(headers.get('CF-Connecting-IP') ?? '')}`
}
