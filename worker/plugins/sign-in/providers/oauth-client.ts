/** What providers have in common: this server is their OAuth client, by `oauth4webapi`. */
import * as oauth from 'oauth4webapi'
import { readBody } from '../../../protocol/bounded-body.ts'
import { messageOf } from '../../../protocol/errors.ts'
import { isLoopback } from '../../../protocol/loopback.ts'
import type { ClientOptions } from './client-options.ts'
import {
  AccessDenied,
  RefreshRejected,
  TokenRejected,
  UnexpectedStatus,
  type UpstreamTokens,
  type UserClaims,
  type UserProfile,
  type Visit,
} from './provider.ts'

/** Milliseconds after which a provider that does not answer is given up. */
const timeoutMs = 10_000

/** Scopes of one answer: each is compared with those of the answer before. */
const maxScopes = 500

/** Bytes of an answer of a provider: an isolate has 128 MB, and JSON takes up to 16 times its size in memory. */
const maxAnswerBytes = 1024 * 1024

export abstract class OAuthClient {
  readonly name: string
  readonly title: string
  readonly #options: ClientOptions
  readonly #client: oauth.Client
  readonly #authentication: oauth.ClientAuth

  constructor(
    options: ClientOptions & { readonly name: string; readonly title: string },
    authentication: (secret: string) => oauth.ClientAuth = oauth.ClientSecretPost,
  ) {
    this.name = options.name
    this.title = options.title
    this.#options = options
    this.#client = { client_id: options.clientId }
    this.#authentication = authentication(options.clientSecret)
  }

  /** Returns the metadata of the provider. */
  protected abstract server(): oauth.AuthorizationServer | Promise<oauth.AuthorizationServer>

  /** Returns who the user of tokens is. */
  protected abstract profileFor(tokens: UpstreamTokens): Promise<UserProfile>

  /** The scopes that tell who the user is. */
  protected readonly ownScopes: readonly string[] = []

  /** Scopes that include others, besides those of the options. */
  protected readonly ownImpliedScopes: Readonly<Record<string, readonly string[]>> = {}

  /** Whether an ID token with the nonce of the visit is required. */
  protected readonly isOpenId: boolean = false

  get emailDomains(): readonly string[] | undefined {
    return this.#options.emailDomains
  }

  get clientId(): string {
    return this.#options.clientId
  }

  get signInScopes(): readonly string[] {
    return this.#scopes()
  }

  get knownScopes(): readonly string[] {
    return [...this.#scopes(), ...(this.#options.additionalScopes ?? [])]
  }

  get impliedScopes(): Readonly<Record<string, readonly string[]>> {
    return { ...this.ownImpliedScopes, ...this.#options.impliedScopes }
  }

  #scopes(more: readonly string[] = []): readonly string[] {
    return [...new Set([...(this.#options.scopes ?? this.ownScopes), ...more])]
  }

  async authorizationUrl({ redirectUri, state, nonce, codeVerifier, scopes: more }: Visit): Promise<URL> {
    const { authorization_endpoint: endpoint } = await this.server()
    if (endpoint === undefined) throw new Error(`${this.title} publishes no authorization endpoint`)
    const url = new URL(endpoint)
    const { clientId, authorizationParams = {} } = this.#options
    const scopes = this.#scopes(more)
    const params = {
      ...authorizationParams,
      response_type: 'code',
      client_id: clientId,
      redirect_uri: redirectUri,
      state,
      code_challenge: await oauth.calculatePKCECodeChallenge(codeVerifier),
      code_challenge_method: 'S256',
      ...(scopes.length > 0 && { scope: scopes.join(' ') }),
      ...(this.isOpenId && { nonce }),
    }
    for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value)
    return url
  }

  async finish(callback: URL, { redirectUri, state, nonce, codeVerifier, scopes }: Visit) {
    const server = await this.server()
    const params = this.#checkCallback(server, callback, state)
    const request = this.#authentication
    const sent = Date.now()
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      this.#client,
      request,
      params,
      redirectUri,
      codeVerifier,
      this.#requestOptions(server.token_endpoint),
    )
    const reading = oauth.processAuthorizationCodeResponse(server, this.#client, await withStatus(response), {
      ...(this.isOpenId && { expectedNonce: nonce, requireIdToken: true }),
    })
    const received = await reading.catch((problem) => this.#throwWithoutTokens(problem))
    const tokens = tokensOf(received, sent, { scopes: this.#scopes(scopes) })
    return { user: await this.profileFor(tokens), tokens }
  }

  async refresh(old: UpstreamTokens): Promise<UpstreamTokens> {
    const { refreshToken } = old
    if (refreshToken === undefined) throw new RefreshRejected(`${this.title} issued no refresh token`)
    const server = await this.server()
    const options = this.#requestOptions(server.token_endpoint)
    const sent = Date.now()
    const response = await oauth.refreshTokenGrantRequest(
      server,
      this.#client,
      this.#authentication,
      refreshToken,
      options,
    )
    try {
      const reading = oauth.processRefreshTokenResponse(server, this.#client, await withStatus(response))
      const received = await reading.catch((problem) => this.#throwWithoutTokens(problem))
      return tokensOf(received, sent, old)
    } catch (problem) {
      if (!(problem instanceof oauth.ResponseBodyError)) throw problem
      const { error } = problem
      // GitHub says bad_refresh_token.
      if (error !== 'invalid_grant' && error !== 'bad_refresh_token') throw problem
      throw new RefreshRejected(`${this.title} does not accept the refresh token any more`)
    }
  }

  async revoke(token: string): Promise<void> {
    const server = await this.server()
    if (server.revocation_endpoint === undefined) return
    const options = this.#requestOptions(server.revocation_endpoint)
    const response = await oauth.revocationRequest(server, this.#client, this.#authentication, token, options)
    await oauth.processRevocationResponse(response)
  }

  /** Throws an error for the log: what the library throws for an answer with tokens has them in its `cause`. */
  #throwWithoutTokens(problem: unknown): never {
    if (problem instanceof oauth.ResponseBodyError) throw problem
    throw new Error(`${this.title} sent an invalid answer: ${messageOf(problem)}`)
  }

  /** Sends a GET request with an access token. @throws Error for any other status than 200, and for a body that is no JSON */
  protected async getJson(url: string, accessToken: string): Promise<unknown> {
    const response = await this.#send(url, {
      headers: { Authorization: `Bearer ${accessToken}`, Accept: 'application/json', 'User-Agent': 'edgemcp' },
      signal: AbortSignal.timeout(timeoutMs),
      // A redirect would carry the token elsewhere.
      redirect: 'manual',
    })
    if (response.status === 401) throw new TokenRejected(`${this.title} does not accept the access token`)
    if (response.status !== 200) {
      throw new UnexpectedStatus(`${this.title} answered ${url} with status ${response.status}`, response)
    }
    return response.json()
  }

  /** Returns options for a request of the library. */
  #requestOptions(url: string | undefined) {
    return {
      signal: () => AbortSignal.timeout(timeoutMs),
      [oauth.customFetch]: (target: string, init: RequestInit) => this.#send(target, init),
      [oauth.allowInsecureRequests]: url !== undefined && isLoopback(new URL(url).hostname),
    }
  }

  /** Returns options for requests to the metadata of an issuer. */
  protected optionsFor(url: string) {
    return this.#requestOptions(url)
  }

  /** Returns a response whose body was read. @throws Error for an answer that is too large; of an error, a part is enough */
  async #send(url: string, init: RequestInit): Promise<Response> {
    const { fetch = (target, options) => globalThis.fetch(target, options) } = this.#options
    const response = await fetch(url, init)
    const { bytes, length } = await readBody(response.body, maxAnswerBytes)
    if (length > maxAnswerBytes && response.ok) {
      throw new Error(`${this.title} answered ${url} with more than ${maxAnswerBytes} bytes`)
    }
    return new Response(response.body && bytes.text(), response)
  }

  /** @throws AccessDenied when the user declined at the provider; Error for any other answer without a code */
  #checkCallback(server: oauth.AuthorizationServer, callback: URL, state: string): URLSearchParams {
    if (callback.searchParams.get('error') === 'access_denied') {
      throw new AccessDenied(`You did not allow ${this.title} to sign you in.`)
    }
    return oauth.validateAuthResponse(server, this.#client, callback, state)
  }
}

/** GitHub sends errors with status 200. Returns such a response with status 400, as RFC 6749, section 5.2, has it. */
async function withStatus(response: Response): Promise<Response> {
  if (response.status !== 200) return response
  const text = await response.text()
  const isError = /"error"\s*:/.test(text) && !/"access_token"\s*:/.test(text)
  return new Response(text, { status: isError ? 400 : 200, headers: response.headers })
}

/**
 * @param sent when the tokens were requested, in milliseconds since 1970: their lifetime began no earlier
 * @param old what a provider leaves out when it does not change: scopes, and the refresh token
 */
function tokensOf(
  received: oauth.TokenEndpointResponse,
  sent: number,
  old: Pick<UpstreamTokens, 'scopes' | 'refreshToken'>,
): UpstreamTokens {
  const {
    access_token: accessToken,
    refresh_token: refreshToken = old.refreshToken,
    expires_in: seconds,
    scope,
  } = received
  const idToken: UserClaims | undefined = oauth.getValidatedIdTokenClaims(received)
  return {
    accessToken,
    ...(idToken && { idToken }),
    ...(refreshToken !== undefined && { refreshToken }),
    ...(seconds !== undefined && { expires: sent + seconds * 1000 }),
    scopes: scope === undefined ? old.scopes : scopesIn(scope),
  }
}

/** Returns the scopes of an answer. GitHub separates them with commas. @throws Error for too many */
function scopesIn(scope: string): readonly string[] {
  const names = scope.split(/[ ,]+/).filter((name) => name !== '')
  if (names.length > maxScopes) throw new Error(`The provider granted more than ${maxScopes} scopes`)
  return names
}
