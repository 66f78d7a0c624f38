import type { Params } from './types.ts'

/** Identifies the authenticated caller of a request by the claims of its token. Contains no credential. */
export type Principal = {
  /** The authority that identifies the subject: `iss` of a token. */
  readonly issuer: string
  /** The user or machine: `sub` of a token. */
  readonly subject: string
  /** The software that the token was issued to: `client_id` or `azp`. */
  readonly client?: string | undefined
  /** The organization that the subject acts for, among those of the same issuer. */
  readonly tenant?: string | undefined
  /** OAuth scopes of the token. */
  readonly scopes: readonly string[]
  /** All claims of the token. In tasks, only `storedClaims`, and those that `signIn()` and `apiKeys()` know. */
  readonly claims: Readonly<Params> & Claims
}

/**
 * Types the claims of your tokens. Extend it in a declaration of your own.
 *
 * @example
 * declare module 'edgemcp' {
 *   interface Claims { readonly email?: string }
 * }
 */
// biome-ignore lint/suspicious/noEmptyInterface: it is there to be added to
export interface Claims {}

/** Identifies a user by issuer, tenant and subject; without a subject, a tenant. */
export type Owner = Pick<Principal, 'issuer' | 'tenant'> & Partial<Pick<Principal, 'subject'>>

/**
 * Returns the name of a user or a tenant. Everything that is stored, counted or cached for a principal is found by this name, so that
 * nothing crosses issuers, tenants or endpoints, and a user is one owner with all OAuth clients.
 *
 * @param endpoint the identity of the endpoint; `undefined` for what all endpoints of a Worker share
 */
export const ownerKey = ({ issuer, tenant, subject }: Owner, endpoint: string | undefined): string =>
  JSON.stringify([endpoint ?? null, issuer, tenant ?? null, subject ?? null])

/** Returns the user that `ownerKey` names. */
export function readOwnerKey(key: string): Pick<Principal, 'issuer' | 'subject' | 'tenant'> {
  const [, issuer, tenant, subject] = JSON.parse(key)
  return { issuer, subject, ...(tenant !== null && { tenant }) }
}

/** Returns the name of one OAuth client of a user, for what each client has of its own. */
export const clientKey = (principal: Principal, endpoint: string | undefined): string =>
  JSON.stringify([ownerKey(principal, endpoint), principal.client ?? null])

/**
 * Returns one text per principal, without the endpoint: sealed texts are bound to it and to an endpoint, and two tokens with the same text
 * have the same principal. The text of an anonymous caller is empty.
 */
export const principalKey = (principal: Principal | undefined): string =>
  principal ? JSON.stringify([principal.issuer, principal.subject, principal.client ?? '', principal.tenant ?? '']) : ''

/** Whether a token with some scopes may use what requires others. All decisions on scopes use this function. */
export const holdsScopes = (held: readonly string[] = [], needed: readonly string[] = []): boolean =>
  needed.every((scope) => held.includes(scope))
