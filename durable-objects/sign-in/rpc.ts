/** The RPC interface of sign-in. Types only, so that `worker/` can import them. */

import type { Params } from '../../worker/protocol/types.ts'

/** Where the authorization server of sign-in is, as the endpoint that received a request derives it. */
export type OAuthSite = {
  /** The issuer: scheme, host and port of the endpoint. */
  readonly origin: string
  /** The identity of the endpoint: see `identity` of `serve()`. */
  readonly identity: string
  /** URLs of the endpoint, which tokens name as their audience. The first is the default. */
  readonly resources: readonly string[]
  /** All scopes that the endpoint declares. */
  readonly scopes: readonly string[]
}

/** A key of sign-in, without its value. `expires`: milliseconds since 1970. */
export type StoredKey = { readonly name: string; readonly metadata?: unknown; readonly expires?: number | undefined }

/** Tokens of one user for the API of a provider. */
export type KeptTokens = {
  readonly accessToken: string
  readonly refreshToken?: string | undefined
  /** Milliseconds since 1970: when the access token expires. */
  readonly expires?: number | undefined
  readonly scopes: readonly string[]
  /** How often the user was asked for each scope that the provider did not grant. */
  readonly refused?: Readonly<Record<string, number>> | undefined
  /** Milliseconds since 1970: when the user last replaced rejected access tokens. */
  readonly replaced?: readonly number[] | undefined
  /** Claims of the ID token, if the provider issued one with them. */
  readonly idToken?: Readonly<Params> | undefined
  /** Id of the account at the provider. */
  readonly account: string
  /** Milliseconds since 1970: when the sign-in asked the provider for them. */
  readonly askedAt?: number | undefined
  /** Who issued them, and to which client. */
  readonly issuer?: string | undefined
  readonly clientId?: string | undefined
  /** Whether the provider refused the tokens: the user is signed out until the next sign-in. */
  readonly isRefused?: boolean | undefined
  /** Whether a handler says that its API refused the access token, which cannot be refreshed. */
  readonly isRejected?: boolean | undefined
  /** Tokens of a later sign-in, with fewer scopes: they take the place of these, once these cannot be used. */
  readonly fallback?: KeptTokens | undefined
  /** Scopes of the tokens whose place these took. They are requested again when the user connects the provider. */
  readonly lostScopes?: readonly string[] | undefined
}

/** An access token for the API of a provider; or what is missing: the tokens, scopes of them, or the answer of the provider. */
export type UpstreamAnswer =
  | { readonly accessToken: string; readonly expires?: number | undefined }
  | { readonly missing: 'answer' }
  | {
      readonly missing: 'tokens' | 'scopes'
      /** The scopes that the tokens have, or had before they were revoked. */
      readonly held: readonly string[]
      /** How often the user was asked for each scope that the provider did not grant. */
      readonly refused: Readonly<Record<string, number>>
    }

/**
 * Who a user is now: what the provider says; nothing if it tells only at a sign-in; why the user has no access any more; or that the provider
 * does not answer.
 */
export type UserAnswer =
  | { readonly is: 'known'; readonly profile: Readonly<Params> }
  | { readonly is: 'unchanged' }
  | { readonly is: 'denied'; readonly reason: string }
  | { readonly is: 'unanswered' }

/**
 * Names a provider of an endpoint, and its client there. During a rollout, the isolate of an object may run another deployment, without this
 * provider or with another issuer or client.
 */
export type ProviderName = Pick<KeptTokens, 'issuer' | 'clientId'> & { readonly name: string }

/** Names the tokens of a user at a provider. */
export type TokensName = ProviderName & {
  /** The provider and, where it states the tenant of a user, that of the grant. See `tokensEntry`. */
  readonly entry: string
  readonly impliedScopes?: Readonly<Record<string, readonly string[]>> | undefined
}

/** What is stored with each grant of a user, as metadata. */
export type ListedGrant = {
  /** When it was listed, in milliseconds since 1970. */
  readonly since: number
  /** Whether the client has yet to exchange its code. */
  readonly isCode: boolean
  readonly client: string
}

/** What a stored principal is compared with. */
export type StoredGrant = {
  readonly clientId: string
  readonly tenant?: string | undefined
  /** The scopes that the user approved. */
  readonly scopes: readonly string[]
  /** What the last refresh decided, sealed; `undefined` before the first one. */
  readonly decided: string | undefined
}

/** What the authorization server of sign-in stores. */
export interface EntryStorage {
  /** @param isUsedOnce only one reader gets the value, until it deletes it or has had it for 10 seconds */
  read(key: string, isUsedOnce?: boolean): Promise<string | null>
  /** Returns the value; without one, `null` to the first caller, who then stores it, and a text to the others. */
  reserve(key: string): Promise<string | null>
  /** @param expires milliseconds since 1970; `undefined`: never */
  write(key: string, value: string, metadata: unknown, expires: number | undefined): Promise<void>
  remove(key: string): Promise<void>
  list(prefix: string): Promise<readonly StoredKey[]>
}

/** The RPC interface of an object of sign-in. */
export interface SignInRpc extends EntryStorage {
  /**
   * Stores the tokens of the user of this object.
   *
   * @param user its id
   * @param requested the scopes that were requested
   * @param isSignIn tokens with more scopes stay
   */
  keepUpstream(
    user: string,
    of: TokensName,
    tokens: KeptTokens,
    requested: readonly string[],
    isSignIn: boolean,
  ): Promise<void>
  /** Returns an access token of the user of this object. @param rejected an access token that is returned only if another one is no help */
  upstreamToken(user: string, of: TokensName, scopes: readonly string[], rejected?: string): Promise<UpstreamAnswer>
  /** Asks a provider who the user of this object is now. */
  upstreamUser(user: string, of: TokensName): Promise<UserAnswer>
  /** Returns the names of the providers whose tokens this object stores. */
  upstreamProviders(): Promise<readonly string[]>
  /** Deletes the tokens of the user of this object, and revokes them at their providers. @param provider Default: all of them */
  clearUpstream(user: string, provider?: string): Promise<void>
  /** Returns the grant that this object stores; `undefined` once it has ended. @param key of the grant */
  granted(key: string): Promise<StoredGrant | undefined>
  /**
   * Answers a token request of the grant that this object stores; returns `undefined` for a grant of another client, or for a token that was not
   * issued for it.
   *
   * @param key of the grant
   * @param sent the client that the request names, which may not be its client, and its code or token
   * @param providers those of the endpoint with which users sign in
   */
  answer(
    request: Request,
    site: OAuthSite,
    key: string,
    sent: { readonly clientId: string; readonly token: string },
    providers: readonly ProviderName[],
  ): Promise<Response | undefined>
}
