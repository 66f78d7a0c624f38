/**
 * Checks which origins and hosts an endpoint accepts: one that is written another way than a browser writes it would never match.
 *
 * @see https://html.spec.whatwg.org/multipage/browsers.html#ascii-serialisation-of-an-origin
 */
import type { Policy } from './guard.ts'

/** @throws Error that says what to write instead */
export function checkPolicy({ origins = [], hosts = [] }: Partial<Policy>): void {
  checkOrigins(origins)
  for (const host of hosts) {
    const { hostname } = URL.parse(host.includes('://') ? host : `https://${host}`) ?? {}
    if (hostname !== host) throw new Error(`"${host}" is no host name: write "${hostname || 'mcp.example.com'}"`)
  }
}

/** @throws Error that says what to write instead */
export function checkOrigins(origins: readonly string[]): void {
  for (const origin of origins) {
    const meant = originIn(origin)
    if (origin !== '*' && origin !== meant) {
      throw new Error(`"${origin}" is no origin: write "${meant ?? 'https://app.example.com'}"`)
    }
  }
}

/** As a browser would send it; `undefined`: no page can come from there. */
function originIn(text: string): string | undefined {
  const url = URL.parse(text)
  // Apps and extensions have schemes of their own, whose origins browsers write in the same way.
  return url?.host ? `${url.protocol}//${url.host}` : undefined
}
