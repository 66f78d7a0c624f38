import type { Params } from './types.ts'

/** Who makes this request, as its token says. Never stored with a credential. */
export type Principal = {
  /** `iss`: who vouches for the subject. */
  readonly issuer: string
  /** `sub`: the person or machine. */
  readonly subject: string
  /** `client_id` or `azp`: the software the token was issued to. */
  readonly client?: string
  /** The organisation that the subject acts for, among those of the same issuer. */
  readonly tenant?: string
  readonly scopes: readonly string[]
  /** What the token claims. */
  readonly claims: Readonly<Params> & Claims
}

/**
 * The claims of this server's tokens, for those who declare them:
 *
 * @example
 * declare module 'edgemcp' {
 *   interface Claims { readonly email?: string }
 * }
 */
// biome-ignore lint/suspicious/noEmptyInterface: it is there to be added to
export interface Claims {}

/** One text per principal, to bind sealed things to. Nobody is the empty text. */
export const principalKey = (principal: Principal | undefined): string =>
  principal ? JSON.stringify([principal.issuer, principal.subject, principal.client ?? '', principal.tenant ?? '']) : ''

/** Whether a token that holds some scopes may use what takes others. Every decision on scopes is this one. */
export const holdsScopes = (held: readonly string[] = [], needed: readonly string[] = []): boolean =>
  needed.every((scope) => held.includes(scope))
