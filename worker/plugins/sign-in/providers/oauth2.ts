/**
 * `oauth2()`: signs users in with a provider that knows OAuth 2.0, and tells who its user is through an API of its own.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749
 */
import * as oauth from 'oauth4webapi'
import { checkOptions, type KindsOf } from '../../../declarations/check-options.ts'
import * as kind from '../../../declarations/option-kinds.ts'
import { type ClientOptions, clientKinds, url } from './client-options.ts'
import { OAuthClient } from './oauth-client.ts'
import type { IdentityProvider, UpstreamTokens, UserProfile } from './provider.ts'

/** Configures `oauth2()`. */
export type OAuth2Options = ClientOptions & {
  /** URL of the authorization page. */
  authorizationUrl: string
  /** URL of the token endpoint. */
  tokenUrl: string
  /** URL of the endpoint that revokes tokens: RFC 7009. Default: tokens are not revoked. */
  revocationUrl?: string
  /** How the client proves its secret: in the body (`post`) or in the header `Authorization` (`basic`). Default: `post`. */
  clientAuthentication?: 'post' | 'basic'
  /** Tenants that `user` may return; `'any'`: all, if no other provider may name tenants. Default: none. */
  tenants?: readonly string[] | 'any'
  /**
   * Returns who the user is. Its `id` is a text or a whole number.
   *
   * @param get sends a GET request with the access token, and returns its JSON. It throws for any other status than 200
   */
  user(tokens: UpstreamTokens, get: (url: string) => Promise<unknown>): UserProfile | Promise<UserProfile>
}

const kinds: KindsOf<OAuth2Options> = {
  ...clientKinds,
  authorizationUrl: kind.required(url),
  tokenUrl: kind.required(url),
  revocationUrl: url,
  clientAuthentication: [(value) => value === 'post' || value === 'basic', "'post' or 'basic'"],
  tenants: [(value) => value === 'any' || kind.strings[0](value), "a list of tenants, or 'any'"],
  user: kind.required(kind.fn),
}

/**
 * Creates a provider that knows OAuth 2.0 and PKCE, but not OpenID Connect. For a provider with OpenID Connect, use `oidc()`.
 *
 * @throws Error for an invalid option. The message names the fix
 * @see https://www.rfc-editor.org/rfc/rfc6749
 *
 * @example
 * const example = oauth2({
 *   name: 'example',
 *   clientId: env.EXAMPLE_ID,
 *   clientSecret: env.EXAMPLE_SECRET,
 *   authorizationUrl: 'https://example.com/oauth/authorize',
 *   tokenUrl: 'https://example.com/oauth/token',
 *   user: async (_, get) => {
 *     const { id, name } = (await get('https://api.example.com/me')) as { id: number; name: string }
 *     return { id, name }
 *   },
 * })
 */
export function oauth2(options: OAuth2Options): IdentityProvider {
  checkOptions('oauth2()', options, kinds)
  return new OAuth2Provider(options)
}

class OAuth2Provider extends OAuthClient implements IdentityProvider {
  readonly tenants: readonly string[] | 'any' | undefined
  readonly #options: OAuth2Options

  constructor(options: OAuth2Options) {
    const { name = 'oauth2', title = name, clientAuthentication = 'post' } = options
    super(
      { ...options, name, title },
      clientAuthentication === 'basic' ? oauth.ClientSecretBasic : oauth.ClientSecretPost,
    )
    this.#options = options
    this.tenants = options.tenants
  }

  get issuer(): string {
    return this.#options.authorizationUrl
  }

  protected override server(): oauth.AuthorizationServer {
    const { authorizationUrl, tokenUrl, revocationUrl } = this.#options
    return {
      // Without metadata, a provider has no issuer. Its origin takes the place.
      issuer: new URL(tokenUrl).origin,
      authorization_endpoint: authorizationUrl,
      token_endpoint: tokenUrl,
      ...(revocationUrl !== undefined && { revocation_endpoint: revocationUrl }),
    }
  }

  user(tokens: UpstreamTokens): Promise<UserProfile> {
    return this.profileFor(tokens)
  }

  protected override async profileFor(tokens: UpstreamTokens): Promise<UserProfile> {
    return this.#options.user(tokens, (url) => this.getJson(url, tokens.accessToken))
  }
}
