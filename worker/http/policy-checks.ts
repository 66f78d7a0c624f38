/**
 * Checks from where a server may be called, before it is deployed.
 *
 * @see https://html.spec.whatwg.org/multipage/browsers.html#ascii-serialisation-of-an-origin
 */
import { checkOptions, type KindsOf } from '../options/check.ts'
import { required, strings } from '../options/kinds.ts'
import type { Policy } from './guard.ts'
import type { BrowserOptions } from './policies.ts'

export const policyKinds: KindsOf<Policy> = { origins: strings, hosts: strings }

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

/** @throws Error that says what to write instead */
export function checkBrowserPolicy(options: BrowserOptions): void {
  checkOptions('policies.browser()', options, { ...policyKinds, origins: required(policyKinds.origins) })
  const { origins, hosts = [] } = options
  if (origins.length === 0) {
    throw new Error("policies.browser() needs pages: policies.browser({ origins: ['https://app.example.com'] })")
  }
  if (origins.includes('*')) throw new Error('"*" is every page there is: use policies.public')
  checkPolicy({ origins, hosts })
}
