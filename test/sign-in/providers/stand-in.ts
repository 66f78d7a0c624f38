/** An OpenID provider at its public addresses, of which each answer is as its documentation has it. */
import { createHash, randomUUID } from 'node:crypto'
import { type CryptoKey, generateKeyPair, SignJWT } from 'jose'

export type Json = Record<string, unknown>

export type Description = {
  readonly issuer: string
  readonly endpoints: {
    readonly authorization: string
    readonly token: string
    readonly userInfo: string
    readonly revocation?: string
  }
  /** Claims of the ID token besides those that each has. */
  readonly idToken: Json
  /** What the user info endpoint answers. */
  readonly userInfo: Json
  /** Claims of the access token, for a provider that documents them. */
  readonly accessToken?: Json
  /** The scopes of the token response, if they are not those that were requested. */
  readonly grantedScope?: string
}

type Visit = {
  readonly challenge: string
  readonly nonce: string
  readonly redirectUri: string
  readonly scope: string
}

/** That of all stand-ins: it takes a while to generate. */
let key: Promise<CryptoKey> | undefined

export class StandIn {
  readonly description: Description
  /** Requests of the Worker: `POST /token`. */
  readonly asked: string[] = []
  /** Changes the claims of ID tokens. */
  claims: Json = {}
  /** Seconds for which access tokens are valid. */
  expiresIn = 3600
  readonly #codes = new Map<string, Visit>()
  readonly #accessTokens = new Set<string>()
  readonly #refreshTokens = new Map<string, string>()

  constructor(description: Description) {
    this.description = description
  }

  /** Answers the browser of a user who is signed in. Returns where it is sent. */
  authorize({ origin, pathname, searchParams }: URL): URL {
    const { endpoints } = this.description
    if (`${origin}${pathname}` !== endpoints.authorization) throw new Error(`${origin}${pathname}`)
    const get = (name: string) => searchParams.get(name) ?? ''
    const code = randomUUID()
    if (get('client_id') !== 'edge' || get('response_type') !== 'code' || get('code_challenge_method') !== 'S256') {
      throw new Error(`${searchParams}`)
    }
    this.#codes.set(code, {
      challenge: get('code_challenge'),
      nonce: get('nonce'),
      redirectUri: get('redirect_uri'),
      scope: get('scope'),
    })
    const back = new URL(get('redirect_uri'))
    back.search = String(new URLSearchParams({ code, state: get('state') }))
    return back
  }

  /** Answers a request of the Worker; `undefined` for one to another address. */
  answer(request: Request): Promise<Response> | undefined {
    const { origin, pathname, hostname } = new URL(request.url)
    const { issuer, endpoints } = this.description
    const url = `${origin}${pathname}`
    const known = {
      [`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`]: () => this.#metadata(),
      [endpoints.token]: () => this.#token(request),
      [endpoints.userInfo]: () => this.#userInfo(request),
      ...(endpoints.revocation !== undefined && { [endpoints.revocation]: () => this.#revoke(request) }),
    }[url]
    if (!known) return undefined
    this.asked.push(`${request.method} ${hostname}${pathname}`)
    return known()
  }

  async #metadata(): Promise<Response> {
    const { issuer, endpoints } = this.description
    return Response.json({
      issuer,
      authorization_endpoint: endpoints.authorization,
      token_endpoint: endpoints.token,
      userinfo_endpoint: endpoints.userInfo,
      revocation_endpoint: endpoints.revocation,
      jwks_uri: `${new URL(issuer).origin}/keys`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
      token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'],
    })
  }

  async #token(request: Request): Promise<Response> {
    const form = new URLSearchParams(await request.text())
    const refused = Response.json({ error: 'invalid_grant' }, { status: 400 })
    if (form.get('client_id') !== 'edge' || form.get('client_secret') !== 'hush') return refused
    if (form.get('grant_type') === 'refresh_token') {
      const scope = this.#refreshTokens.get(form.get('refresh_token') ?? '')
      return scope === undefined ? refused : Response.json(await this.#tokens(scope, undefined))
    }
    const visit = this.#codes.get(form.get('code') ?? '')
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    if (visit?.challenge !== challenge || visit.redirectUri !== form.get('redirect_uri')) return refused
    return Response.json(await this.#tokens(visit.scope, visit.nonce))
  }

  async #tokens(scope: string, nonce: string | undefined): Promise<Json> {
    const { issuer, idToken, accessToken, grantedScope = scope } = this.description
    key ??= generateKeyPair('RS256').then(({ privateKey }) => privateKey)
    const signing = await key
    const sign = (claims: Json) =>
      new SignJWT({ iss: issuer, ...claims })
        .setProtectedHeader({ alg: 'RS256', kid: 'k1' })
        .setIssuedAt()
        .setExpirationTime('1h')
        .sign(signing)
    const token = accessToken ? await sign({ ...accessToken, jti: randomUUID() }) : `at-${randomUUID()}`
    const refreshToken = `rt-${randomUUID()}`
    this.#accessTokens.add(token)
    const isOffline = scope.includes('offline_access') || issuer === 'https://accounts.google.com'
    if (isOffline) this.#refreshTokens.set(refreshToken, scope)
    return {
      access_token: token,
      token_type: 'Bearer',
      expires_in: this.expiresIn,
      scope: grantedScope,
      id_token: await sign({ aud: 'edge', ...(nonce !== undefined && { nonce }), ...idToken, ...this.claims }),
      ...(isOffline && { refresh_token: refreshToken }),
    }
  }

  async #userInfo({ headers }: Request): Promise<Response> {
    const token = headers.get('Authorization')?.replace('Bearer ', '') ?? ''
    if (!this.#accessTokens.has(token)) return new Response(null, { status: 401 })
    return Response.json({ sub: this.claims.sub ?? this.description.idToken.sub, ...this.description.userInfo })
  }

  async #revoke(request: Request): Promise<Response> {
    const token = new URLSearchParams(await request.text()).get('token') ?? ''
    this.#refreshTokens.delete(token)
    this.#accessTokens.delete(token)
    return new Response(null)
  }
}
