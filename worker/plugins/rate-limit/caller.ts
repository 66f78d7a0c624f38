/** Whom a limit is for. */

import { networkOf } from '../../protocol/address.ts'
import { principalKey } from '../../protocol/principal.ts'
import type { IncomingRequest } from '../../request-hooks.ts'

/** Whoever is signed in; else the address, which Cloudflare states and clients cannot. */
export function callerOf({ principal, request: { headers } }: IncomingRequest): string {
  if (principal) return principalKey(principal)
  return `address ${networkOf(headers.get('CF-Connecting-IP') ?? '')}`
}
