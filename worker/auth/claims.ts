/** From what a token claims to who makes a request. */
import type { Principal } from '../protocol/principal.ts'
import type { Params } from '../protocol/types.ts'

/** Of one token. */
export type Claims = Readonly<Params>

export type ClaimOptions = {
  /** The claim that names the organisation a subject acts for, such as `org_id` or `tid`; left out, there are none. */
  tenant?: string
  /** The scopes that claims amount to. Default: `scope` and `scp`, texts with spaces or lists. */
  scopesOf?(claims: Claims): readonly string[]
  /** What a scope allows besides itself: `{ 'notes:write': ['notes:read'] }`. */
  implies?: Readonly<Record<string, readonly string[]>>
}

/** Scopes as the token states them. */
export const statedScopes = (claims: Claims): readonly string[] => [...listed(claims.scope), ...listed(claims.scp)]

const listed = (value: unknown): string[] => {
  if (typeof value === 'string') return value.split(' ').filter((scope) => scope !== '')
  return Array.isArray(value) ? value.filter((scope) => typeof scope === 'string') : []
}

/** @returns `undefined` when the claims name nobody */
export function principalOf(
  claims: Claims,
  { tenant, scopesOf = statedScopes, implies }: ClaimOptions,
): Principal | undefined {
  const client = text(claims.client_id) ?? text(claims.azp) ?? text(claims.appid)
  // A service token of Cloudflare Access has its name here and an empty subject.
  const subject = text(claims.sub) ?? text(claims.common_name) ?? client
  const issuer = text(claims.iss)
  if (subject === undefined || issuer === undefined) return undefined
  const organisation = tenant === undefined ? undefined : text(claims[tenant])
  return {
    issuer,
    subject,
    ...(client !== undefined && { client }),
    ...(organisation !== undefined && { tenant: organisation }),
    scopes: withImplied(scopesOf(claims), implies),
    claims,
  }
}

const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

/** Scopes, and what they imply, and what that implies. */
export function withImplied(
  scopes: readonly string[],
  implies: Readonly<Record<string, readonly string[]>> = {},
): readonly string[] {
  const all = new Set(scopes)
  // A set is gone through to its end, and it grows meanwhile.
  for (const scope of all)
    if (Object.hasOwn(implies, scope)) for (const implied of implies[scope] ?? []) all.add(implied)
  return [...all]
}
