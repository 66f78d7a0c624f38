/** What sign-in needs of an identity provider. */
import type { ProviderName } from '../../../../durable-objects/sign-in/rpc.ts'

/** Describes a user, as the provider does. */
export type UserProfile = {
  /** Identifies the user at the provider: a text, or a whole number. Never an email address, which can be given to another person. */
  readonly id: string | number
  /** Name of the user for people. */
  readonly name?: string | undefined
  /** The name that the user chose, such as the login of GitHub. */
  readonly login?: string | undefined
  /** Email address, which may be unverified. */
  readonly email?: string | undefined
  /** Whether the provider has verified the email address. */
  readonly emailVerified?: boolean | undefined
  /** The organization of the user, one of the `tenants` of the provider. */
  readonly tenant?: string | undefined
  /** Names of the groups, organizations or roles of the user. */
  readonly groups?: readonly string[] | undefined
}

/** Describes a signed-in user: what the provider may state. */
export type User = Omit<UserProfile, 'id'> & {
  /** Name of the provider, or of the issuer of an organization, that describes the user. Others may state the same email address and groups. */
  readonly provider: string
  /** Identifies the user at the provider. */
  readonly id: string
}

/** Names who describes users, and what it may state: an identity provider, or the issuer of an organization. */
export interface Authority {
  /** Identifies it in URLs, in the ids of its users and in `ctx.upstream()`: lower-case letters, digits and hyphens. */
  readonly name: string
  /** Its name for users. */
  readonly title: string
  /** Tenants that it may state; `'any'`: all. Default: none. */
  readonly tenants?: readonly string[] | 'any' | undefined
  /** Domains of the email addresses that it may state; others are left out. Default: all. */
  readonly emailDomains?: readonly string[] | undefined
}

/** Holds the tokens that a provider issued for its API. */
export type UpstreamTokens = {
  /** Access token of the API. */
  readonly accessToken: string
  /** Refresh token, if the provider issues one. */
  readonly refreshToken?: string | undefined
  /** Milliseconds since 1970: when the access token expires. `undefined`: it does not. */
  readonly expires?: number | undefined
  /** Scopes of the access token, at the provider. */
  readonly scopes: readonly string[]
  /** Claims of the ID token, if the provider issued one with them. */
  readonly idToken?: UserClaims | undefined
}

/** Claims of the ID token and of the user info endpoint. */
export type UserClaims = Readonly<Record<string, unknown>>

/** Describes a visit of the user to the provider: what is sent with it, and compared when the user comes back. */
export type Visit = {
  /** URL of this server to which the provider sends the user back. */
  readonly redirectUri: string
  /** Random text that the provider returns: RFC 6749, section 10.12. */
  readonly state: string
  /** Random text that the ID token repeats. */
  readonly nonce: string
  /** PKCE: RFC 7636. */
  readonly codeVerifier: string
  /** Scopes that are requested besides those of each sign-in. Default: none. */
  readonly scopes?: readonly string[]
}

/**
 * Signs a user in. `github()`, `google()`, `oidc()` and the others of `edgemcp/sign-in` return such a provider.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-4.1
 */
export interface IdentityProvider extends Authority {
  /** Issuer of its tokens, or the URL of its authorization page. Tokens of another issuer are not sent to it. */
  readonly issuer: string
  /** Id of the client at the provider. Tokens of another client are not sent to it. */
  readonly clientId: string
  /** Scopes that each sign-in requests. */
  readonly signInScopes: readonly string[]
  /** Scopes that `ctx.upstream()` may request. */
  readonly knownScopes: readonly string[]
  /** Scopes that include others, as the provider defines them: `{ user: ['user:email'] }`. Default: none. */
  readonly impliedScopes?: Readonly<Record<string, readonly string[]>>
  /** Returns the URL of the provider's authorization page. */
  authorizationUrl(visit: Visit): Promise<URL>
  /**
   * Exchanges the code, and asks who the user is.
   *
   * @param callback the URL to which the provider sent the user
   * @throws Error that tells the developer what the provider answered; `AccessDenied` for users
   */
  finish(callback: URL, visit: Visit): Promise<{ readonly user: UserProfile; readonly tokens: UpstreamTokens }>
  /** Returns new tokens for the refresh token of `tokens`. @throws `RefreshRejected` when the provider does not accept it any more */
  refresh?(tokens: UpstreamTokens): Promise<UpstreamTokens>
  /**
   * Returns who the user of tokens is now; `undefined` if the tokens do not tell. Default: what the user was at the sign-in counts.
   *
   * @throws `AccessDenied` for a user who may not sign in any more; `TokenRejected` when the API refuses the access token
   */
  user?(tokens: UpstreamTokens): Promise<UserProfile | undefined>
  /** Revokes a token. */
  revoke?(token: string): Promise<void>
}

/** Whether two deployments have a provider in common. */
export const isSameProvider = (provider: ProviderName, { name, issuer, clientId }: ProviderName): boolean =>
  provider.name === name && provider.issuer === issuer && provider.clientId === clientId

/** Reports that the provider, or an allow list, refuses the user. The message is for the user. */
export class AccessDenied extends Error {}

/** Reports that the provider does not accept a refresh token any more: the user has to sign in again. */
export class RefreshRejected extends Error {}

/** Reports that the API of a provider answered with another status than 200 and 401. */
export class UnexpectedStatus extends Error {
  readonly status: number
  readonly headers: Headers

  constructor(message: string, { status, headers }: Response) {
    super(message)
    this.status = status
    this.headers = headers
  }
}

/** Reports that the API of a provider does not accept an access token: status 401. */
export class TokenRejected extends Error {}
