/** Converts what a provider states of a user into a user. The only place that decides what a provider may state. */
import { encodeBase64url } from '../../protocol/base64url.ts'
import type { Params } from '../../protocol/types.ts'
import { sha256 } from '../../sealing/sha256.ts'
import { readFlag, readString, readStrings, readText, type TokenClaims } from '../auth/claims.ts'
import { AccessDenied, type Authority, type User, type UserProfile } from './providers/provider.ts'

/** Claims that describe a user, by the names that a developer chose. */
export type ProfileClaims = { readonly tenantClaim?: string | undefined; readonly groupsClaim?: string | undefined }

/** Returns the user that claims of OpenID Connect describe. @throws BadToken for a claim of another type, which must not count as absent */
export const profileOf = (
  claims: TokenClaims,
  { tenantClaim, groupsClaim = 'groups' }: ProfileClaims,
): UserProfile => ({
  id: readString(claims, 'sub') ?? '',
  name: readText(claims, 'name'),
  login: readText(claims, 'preferred_username'),
  email: readText(claims, 'email'),
  emailVerified: readFlag(claims, 'email_verified'),
  tenant: tenantClaim === undefined ? undefined : readString(claims, tenantClaim),
  groups: readStrings(claims, groupsClaim),
})

/** Characters of a user id. It is part of tokens and of names of objects. */
const maxUserIdCharacters = 256
/** Characters of a user as JSON: each token has a copy. */
const maxUserCharacters = 65_536

/** What String() makes of a missing id: all users would be one. */
const noIds: ReadonlySet<unknown> = new Set([0, '', 'undefined', 'null', 'NaN', '[object Object]'])

/**
 * Returns the user that a provider describes, without an email address of a domain that is not its own.
 *
 * @throws AccessDenied for a tenant that is not among those of the provider; Error for a profile without an id, or with values of another type
 */
export function userOf(profile: UserProfile, { name, title, tenants, emailDomains }: Authority): User {
  const { id }: { id: unknown } = profile
  if (noIds.has(id) || !(typeof id === 'string' ? id.isWellFormed() : Number.isSafeInteger(id))) {
    throw new Error(`${title} named no user: the id must be a text or a whole number that identifies the user`)
  }
  // Code of the developer returns it.
  const values: Params = { ...profile }
  const of = `user of ${title}`
  const email = readText(values, 'email', of)
  const isOwnEmail = email !== undefined && (!emailDomains || emailDomains.some((domain) => isOfDomain(email, domain)))
  const user = {
    provider: name,
    id: String(id),
    name: readText(values, 'name', of),
    login: readText(values, 'login', of),
    ...(isOwnEmail && { email, emailVerified: readFlag(values, 'emailVerified', of) }),
    tenant: checkTenant(readString(values, 'tenant', of), title, tenants),
    groups: readStrings(values, 'groups', of),
  }
  const { length } = JSON.stringify(user)
  if (length <= maxUserCharacters) return user
  throw new Error(
    `${title} describes a user with ${length} characters: a user has at most ${maxUserCharacters}, so ask it for fewer groups`,
  )
}

function checkTenant(tenant: string | undefined, title: string, tenants: Authority['tenants']): string | undefined {
  if (tenant === undefined || tenants === 'any' || tenants?.includes(tenant)) return tenant
  if (tenants) throw new AccessDenied(`The organization ${tenant} has no access to this server with ${title}.`)
  throw new Error(
    `${title} states the tenant "${tenant}" of a user: list the tenants that it may state in its option tenants`,
  )
}

const isOfDomain = (email: string, domain: string): boolean => email.toLowerCase().endsWith(`@${domain.toLowerCase()}`)

/**
 * Returns the id of a user among those of all providers. It is a part of tokens, so other characters than letters, digits, `-`, `_` and `.`
 * are written in hexadecimal: `auth0~7C123`.
 */
export async function userIdOf({ provider, id }: User): Promise<string> {
  const escaped = encodeURIComponent(id).replace(/[~!*'()]/g, (character) => `%${character.charCodeAt(0).toString(16)}`)
  const userId = `${provider}.${escaped.replaceAll('%', '~')}`
  return userId.length <= maxUserIdCharacters ? userId : `${provider}.~~${encodeBase64url(await sha256(id))}`
}
