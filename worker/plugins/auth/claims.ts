/**
 * Converts the claims of a token into a principal. Claims that decide the caller, the tenant, the scopes and the expiry are read as values
 * of the right type, or the token is rejected: a claim of the wrong type never counts as absent.
 */
import { isStrings, kindOf } from '../../protocol/check-principal.ts'
import { McpError } from '../../protocol/errors.ts'
import type { Principal } from '../../protocol/principal.ts'
import type { Params } from '../../protocol/types.ts'
import { BadToken } from './bad-token.ts'

/** Describes the claims of one token. */
export type TokenClaims = Readonly<Params>

/** Configures how a principal is read from the claims of a token. */
export type ClaimOptions = {
  /**
   * Claim that identifies the subject, for an issuer whose tokens have no `sub`. Two users, or a user and a client, must never have the same
   * value. Default: `sub`; tokens without it are rejected.
   *
   * @see https://www.rfc-editor.org/rfc/rfc9068#section-2.2
   */
  subjectClaim?: string
  /** Claim that identifies the organization of the subject, such as `org_id` or `tid`. Default: none; principals have no tenant. */
  tenantClaim?: string
  /** Rejects tokens without the claim `tenantClaim` with status 403. Needs `tenantClaim`. Default: false; their principals have no tenant. */
  requireTenant?: boolean
  /** Returns the scopes of a token from its claims. Default: `scope` and `scp`, as texts with spaces or lists. */
  getScopes?(claims: TokenClaims): readonly string[]
  /** Scopes that a scope includes: `{ 'notes:write': ['notes:read'] }`. Default: none. */
  impliedScopes?: Readonly<Record<string, readonly string[]>>
}

/** Tokens of Cloudflare Access for services are accepted: their name is in `common_name`, and their subject is empty. */
export type ServiceTokens = { readonly serviceTokens?: boolean | undefined }

/**
 * Returns the scopes that a token states.
 *
 * @throws BadToken when `scope` or `scp` is neither a string nor a list of strings
 */
export const tokenScopes = (claims: TokenClaims): readonly string[] => [
  ...readScopes(claims, 'scope'),
  ...readScopes(claims, 'scp'),
]

/** Scopes of a token: those of a stream are compared with those of its session, each with all others. */
const maxScopes = 1_000

/**
 * Reads the principal.
 *
 * @throws BadToken when a claim has the wrong type, when there are too many scopes, or when the claims name no issuer or no subject
 */
export function principalOf(
  claims: TokenClaims,
  {
    tenantClaim,
    subjectClaim = 'sub',
    getScopes = tokenScopes,
    impliedScopes,
    serviceTokens = false,
  }: ClaimOptions & ServiceTokens,
): Principal {
  const client = readString(claims, 'client_id') ?? readString(claims, 'azp') ?? readString(claims, 'appid')
  const isService = serviceTokens && claims.sub === '' && claims.common_name !== undefined
  // No other claim takes the place of the subject: users of one client would be one principal.
  const subject = readString(claims, isService ? 'common_name' : subjectClaim)
  const issuer = readString(claims, 'iss')
  if (subject === undefined) throw new BadToken(`The token has no subject: it needs the claim ${subjectClaim}`)
  if (issuer === undefined) throw new BadToken('The token has no issuer: it needs the claim iss')
  const organization = tenantClaim === undefined ? undefined : readString(claims, tenantClaim)
  const scopes: unknown = getScopes(claims)
  if (!isStrings(scopes)) throw new BadToken(`The scopes of the token must be a list of strings, not ${kindOf(scopes)}`)
  if (scopes.length > maxScopes) throw new BadToken(`The token has more than ${maxScopes} scopes`)
  return {
    issuer,
    subject,
    ...(client !== undefined && { client }),
    ...(organization !== undefined && { tenant: organization }),
    scopes: [...withImplied(scopes, impliedScopes)],
    claims,
  }
}

/** The error for a token without the claim that names the tenant. @param accepted the tokens that the endpoint accepts */
export const missingTenantClaim = (tenantClaim: string, accepted: string): McpError =>
  new McpError('forbidden', `The token has no claim "${tenantClaim}": this endpoint accepts only tokens ${accepted}`)

/** The error for a principal whose issuer belongs to no auth of the endpoint. */
export const foreignIssuer = ({ issuer }: Principal): McpError =>
  new McpError('forbidden', `This server does not accept callers of the issuer "${issuer}"`)

/**
 * Checks `exp` and `nbf` of claims whose signature jose has not verified.
 *
 * @param now milliseconds since 1970
 * @throws BadToken when the token is expired or not yet valid, or when `exp`, `nbf` or `iat` is not a number
 */
export function checkTimes(claims: TokenClaims, clockToleranceSeconds: number, now: number): void {
  const [exp = Number.POSITIVE_INFINITY, nbf = 0] = ['exp', 'nbf', 'iat'].map((name) => readSeconds(claims, name))
  if ((exp + clockToleranceSeconds) * 1000 < now) throw new BadToken('The token has expired')
  if ((nbf - clockToleranceSeconds) * 1000 > now) throw new BadToken('The token is not valid yet')
}

/** Returns when the token expires, in milliseconds since 1970: `Infinity` without `exp`. @throws BadToken when `exp` is no number */
export const expiryOf = (claims: TokenClaims, clockToleranceSeconds: number): number =>
  ((readSeconds(claims, 'exp') ?? Number.POSITIVE_INFINITY) + clockToleranceSeconds) * 1000

/**
 * Reads `aud`.
 *
 * @throws BadToken when it is neither a string nor a list of strings
 */
export function audiencesOf({ aud = [] }: TokenClaims): readonly string[] {
  const audiences = typeof aud === 'string' ? [aud] : aud
  if (isStrings(audiences)) return audiences
  throw new BadToken(`The claim "aud" of the token must be a string or a list of strings, not ${kindOf(aud)}`)
}

/** @throws BadToken when the claim is present and no string, or empty */
export function readString(claims: TokenClaims, name: string, of = 'token'): string | undefined {
  const value = claims[name]
  if (value === undefined || (typeof value === 'string' && value !== '')) return value
  throw new BadToken(`The claim "${name}" of the ${of} must be a non-empty string, not ${kindOf(value)}`)
}

/**
 * Reads a text that describes a user and decides nothing. Some providers send `null` or an empty text for a missing one.
 *
 * @throws BadToken when it is another value than a text
 * @see https://openid.net/specs/openid-connect-core-1_0.html#UserInfoResponse
 */
export const readText = (claims: TokenClaims, name: string, of = 'token'): string | undefined =>
  claims[name] === null || claims[name] === '' ? undefined : readString(claims, name, of)

/** Reads a boolean, which some providers send as a text. @throws BadToken when it is another value */
export function readFlag(claims: TokenClaims, name: string, of = 'token'): boolean | undefined {
  const value = claims[name]
  if (value === undefined || typeof value === 'boolean') return value
  if (value === 'true' || value === 'false') return value === 'true'
  throw new BadToken(`The claim "${name}" of the ${of} must be true or false, not ${kindOf(value)}`)
}

/** @throws BadToken when the claim is present and no list of strings */
export function readStrings(claims: TokenClaims, name: string, of = 'token'): readonly string[] | undefined {
  const value = claims[name]
  if (value === undefined || isStrings(value)) return value
  throw new BadToken(`The claim "${name}" of the ${of} must be a list of strings, not ${kindOf(value)}`)
}

/** @throws BadToken when the claim is present and no finite number */
function readSeconds(claims: TokenClaims, name: string): number | undefined {
  const value = claims[name]
  if (value === undefined || (typeof value === 'number' && Number.isFinite(value))) return value
  throw new BadToken(`The claim "${name}" of the token must be a number of seconds, not ${kindOf(value)}`)
}

/** @throws BadToken when the claim is present and neither a string nor a list of strings */
function readScopes(claims: TokenClaims, name: string): readonly string[] {
  const { [name]: value = [] } = claims
  const scopes = typeof value === 'string' ? value.split(' ') : value
  if (isStrings(scopes)) return scopes.filter((scope) => scope !== '')
  throw new BadToken(`The claim "${name}" of the token must be a string or a list of strings, not ${kindOf(value)}`)
}

/** Returns scopes with all that they imply, directly and through others. */
export function withImplied(
  scopes: readonly string[],
  implies: Readonly<Record<string, readonly string[]>> = {},
): ReadonlySet<string> {
  const all = new Set(scopes)
  // The iteration includes the scopes that are added meanwhile.
  for (const scope of all)
    if (Object.hasOwn(implies, scope)) for (const implied of implies[scope] ?? []) all.add(implied)
  return all
}
