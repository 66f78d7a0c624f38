/**
 * `oidc()`: signs users in with an OpenID provider, found by its issuer.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html
 */
import { decodeJwt } from 'jose'
import * as oauth from 'oauth4webapi'
import { checkOptions, type KindsOf } from '../../../declarations/check-options.ts'
import * as kind from '../../../declarations/option-kinds.ts'
import { profileOf } from '../user.ts'
import { type ClientOptions, clientKinds, url } from './client-options.ts'
import { OAuthClient } from './oauth-client.ts'
import {
  AccessDenied,
  type IdentityProvider,
  type UpstreamTokens,
  type UserClaims,
  type UserProfile,
} from './provider.ts'

/** Configures `oidc()`. */
export type OidcOptions = ClientOptions & {
  /** Issuer: the URL that the provider's documentation names, as it spells it. */
  issuer: string
  /** Claim that names the organization of the user, such as `tid` or `org_id`. Default: none. */
  tenantClaim?: string
  /**
   * Tenants that the claim may name; users of others are refused. `requireTenant` refuses users without one. Default: all, if no other
   * provider may name tenants. Needs `tenantClaim`.
   */
  tenants?: readonly string[]
  /** Claim that lists the groups or roles of the user. Default: `groups`. */
  groupsClaim?: string
  /**
   * Adds the claims of the user info endpoint to those of the ID token. Default: true if the ID token has neither name nor email address.
   */
  userInfo?: boolean
  /** Returns why the user may not sign in, as a sentence for the user; `undefined` for a user who may. Default: all users may. */
  reject?(claims: UserClaims): string | undefined
}

export const oidcKinds: KindsOf<OidcOptions> = {
  ...clientKinds,
  issuer: kind.required(url),
  tenantClaim: kind.name,
  tenants: kind.strings,
  groupsClaim: kind.name,
  userInfo: kind.flag,
  reject: kind.fn,
}

/** Milliseconds for which the metadata of an issuer are not asked for again. */
const metadataTtlMs = 10 * 60_000

/**
 * Creates a provider that knows OpenID Connect. Its metadata are read from its issuer, and kept for ten minutes.
 *
 * @throws Error for an invalid option. The message names the fix
 * @see https://openid.net/specs/openid-connect-discovery-1_0.html
 *
 * @example
 * const login = oidc({ issuer: 'https://login.example.com', clientId: env.LOGIN_ID, clientSecret: env.LOGIN_SECRET })
 */
export function oidc(options: OidcOptions): IdentityProvider {
  checkOptions('oidc()', options, oidcKinds)
  return new OidcProvider(options, {})
}

/** Differences of one provider from OpenID Connect. */
export type OidcDifferences = {
  readonly name?: string
  readonly title?: string
  readonly scopes?: readonly string[]
  /** Whether its access tokens are JWTs with claims of the user that the ID token does not have. Default: false. */
  readonly readsAccessToken?: boolean
  readonly impliedScopes?: Readonly<Record<string, readonly string[]>>
}

export class OidcProvider extends OAuthClient implements IdentityProvider {
  readonly tenants: readonly string[] | 'any' | undefined
  readonly #options: OidcOptions
  readonly #readsAccessToken: boolean
  protected override readonly ownScopes: readonly string[]
  protected override readonly ownImpliedScopes: Readonly<Record<string, readonly string[]>>
  protected override readonly isOpenId = true
  #metadata: { readonly server: oauth.AuthorizationServer; readonly until: number } | undefined

  constructor(options: OidcOptions, differences: OidcDifferences) {
    const {
      name: ownName = 'oidc',
      title: ownTitle,
      scopes,
      impliedScopes = {},
      readsAccessToken = false,
    } = differences
    const { name = ownName, title = ownTitle ?? new URL(options.issuer).hostname } = options
    super({ ...options, name, title })
    this.#options = options
    this.tenants = options.tenantClaim === undefined ? undefined : (options.tenants ?? 'any')
    this.ownImpliedScopes = impliedScopes
    this.#readsAccessToken = readsAccessToken
    this.ownScopes = scopes ?? ['openid', 'profile', 'email']
  }

  get issuer(): string {
    return this.#options.issuer
  }

  protected override async server(): Promise<oauth.AuthorizationServer> {
    if (this.#metadata && this.#metadata.until > Date.now()) return this.#metadata.server
    const issuer = new URL(this.#options.issuer)
    const response = await oauth.discoveryRequest(issuer, this.optionsFor(issuer.href))
    const server = await oauth.processDiscoveryResponse(issuer, response)
    // What cannot work is asked for again.
    if (server.authorization_endpoint !== undefined) this.#metadata = { server, until: Date.now() + metadataTtlMs }
    return server
  }

  async user(tokens: UpstreamTokens): Promise<UserProfile | undefined> {
    return tokens.idToken && this.profileFor(tokens)
  }

  protected override async profileFor(tokens: UpstreamTokens): Promise<UserProfile> {
    const { idToken } = tokens
    const sub = typeof idToken?.sub === 'string' ? idToken.sub : ''
    const more = this.#readsAccessToken ? claimsIn(tokens.accessToken, sub) : {}
    const claims: UserClaims = { ...(await this.#userInfo(tokens)), ...more, ...idToken }
    const reason = this.#options.reject?.(claims)
    if (reason !== undefined) throw new AccessDenied(reason)
    return profileOf(claims, this.#options)
  }

  /** @throws Error when the endpoint answers for another user */
  async #userInfo({ accessToken, idToken }: UpstreamTokens): Promise<UserClaims> {
    const { userInfo = idToken?.name === undefined && idToken?.email === undefined } = this.#options
    const { userinfo_endpoint: endpoint } = await this.server()
    if (!userInfo || endpoint === undefined) return {}
    const claims = Object(await this.getJson(endpoint, accessToken))
    if (claims.sub !== idToken?.sub) throw new Error(`${this.title} answered for another user`)
    return claims
  }
}

/** Returns the claims of an access token of the user, which came from the provider directly; none of a token that is no JWT. */
function claimsIn(accessToken: string, user: string): UserClaims {
  try {
    const claims = decodeJwt(accessToken)
    return claims.sub === user ? claims : {}
  } catch {
    return {}
  }
}
