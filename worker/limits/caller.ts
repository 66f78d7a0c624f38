/** Whom a limit is for. */
import type { Visit } from '../auth/auth.ts'
import { principalKey } from '../protocol/principal.ts'

/** Whoever is signed in; else the address, which Cloudflare states and clients cannot. */
export function callerOf({ principal, request: { headers } }: Visit): string {
  if (principal) return principalKey(principal)
  return `address ${network(headers.get('CF-Connecting-IP') ?? '')}`
}

/** An IPv6 subscriber has a whole /64 to call from. */
function network(address: string): string {
  if (!address.includes(':')) return address
  const [head = '', tail] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  const rest = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros =
    tail === undefined ? [] : Array.from({ length: Math.max(0, 8 - groups.length - rest.length) }, () => '0')
  return [...groups, ...zeros, ...rest].slice(0, 4).join(':')
}
