/**
 * Validates the origins and hosts that an endpoint accepts: an origin that is not written as browsers send it never matches.
 *
 * @see https://html.spec.whatwg.org/multipage/browsers.html#ascii-serialisation-of-an-origin
 */
import { checkOptions, type KindsOf } from '../declarations/check-options.ts'
import { required, strings } from '../declarations/option-kinds.ts'
import type { Policy } from './origin-and-host.ts'

/** Configures `policies.browser()`. */
export type BrowserOptions = {
  /** Origins of the pages that may call, such as `https://app.example.com`. */
  origins: readonly string[]
  /** Host names of the server, without port. Default: every https host. */
  hosts?: readonly string[]
}

export const policyKinds: KindsOf<Policy> = { origins: strings, hosts: strings }

/** Characters that a URL may have in its host, and no request has. */
const wildcards = /\*\.?/g

/** @throws Error that names the origin or host, and what to write instead */
export function checkPolicy({ origins = [], hosts = [] }: Partial<Policy>): void {
  checkOrigins(origins)
  for (const host of hosts) {
    const name = host.replace(wildcards, '')
    const { hostname } = URL.parse(name.includes('://') ? name : `https://${name}`) ?? {}
    if (hostname !== host) throw new Error(`Invalid host name "${host}": write "${hostname || 'mcp.example.com'}"`)
  }
}

/** @throws Error that names the option or the value, and what to write instead */
export function checkBrowserPolicy(options: BrowserOptions): void {
  checkOptions('policies.browser()', options, { ...policyKinds, origins: required(policyKinds.origins) })
  const { origins, hosts = [] } = options
  if (origins.length === 0) {
    throw new Error("policies.browser() needs origins: policies.browser({ origins: ['https://app.example.com'] })")
  }
  if (origins.includes('*')) throw new Error('"*" would allow every origin: use policies.public for that')
  checkPolicy({ origins, hosts })
}

/** @throws Error that names the origin, and what to write instead */
export function checkOrigins(origins: readonly string[]): void {
  for (const origin of origins) {
    const serialized = serializeOrigin(origin)
    if (origin !== '*' && origin !== serialized) {
      throw new Error(`Invalid origin "${origin}": write "${serialized ?? 'https://app.example.com'}"`)
    }
  }
}

/** Returns an origin as browsers send it; `undefined` if no page has such an origin. */
function serializeOrigin(text: string): string | undefined {
  const url = URL.parse(text.replace(wildcards, ''))
  // Apps and extensions have schemes of their own, whose origins browsers write in the same way.
  return url?.host ? `${url.protocol}//${url.host}` : undefined
}
