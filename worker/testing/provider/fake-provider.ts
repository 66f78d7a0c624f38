/** An identity provider for tests. It answers as GitHub does, and as a provider with OpenID Connect. */
import { SignJWT } from 'jose'
import type { Token } from '../../client/connection.ts'
import { encodeBase64 } from '../../protocol/base64.ts'
import { html } from '../../protocol/html.ts'
import { sha256 } from '../../sealing/sha256.ts'
import { algorithm, newSigningKey, type SigningKey } from '../signing-key.ts'
import { Browser } from './browser.ts'
import { signIn } from './sign-in.ts'

/** Describes a user of a fake provider. */
export type ProviderUser = {
  /** Id of the user: `id` at GitHub, `sub` with OpenID Connect. */
  id: number
  /** Name of the account: `login` at GitHub, `preferred_username` with OpenID Connect. */
  login: string
  /** Full name. Default: the login. */
  name?: string | null
  /** Verified email address. Default: `<login>@example.com`. */
  email?: string
  /** Logins of the user's organizations at GitHub. Default: none. */
  organizations?: readonly string[]
  /** The claim `groups` of OpenID Connect. Default: none. */
  groups?: readonly string[]
  /** More claims of the ID token, such as the one that `tenantClaim` of `oidc()` names. Default: none. */
  claims?: Readonly<Record<string, unknown>>
}

/** Configures `tokenFor()` of a fake provider. */
export type SignInAsOptions = {
  /** Scopes that the user allows on the consent page. Default: all that it offers. */
  scopes?: readonly string[]
  /** Organization that the user chooses on the page of `signIn()` that asks for one. Default: none. */
  tenant?: string
  /** `name` of this provider, where `signIn()` has several. Default: the first one of the consent page. */
  provider?: string
}

/** Answers a request to a fake provider in another way. `next()` returns what the provider would answer. */
export type ProviderAnswer = (request: Request, next: () => Promise<Response>) => Response | Promise<Response>

/** Stands in for GitHub, or for a provider with OpenID Connect. `startProvider()` returns it. */
export interface FakeProvider {
  /** Its URL: `url` of `github()`, `issuer` of `oidc()`. */
  readonly url: string
  /** Id of the client that it knows: `clientId` of `github()` or `oidc()`. */
  readonly clientId: string
  /** Secret of this client. */
  readonly clientSecret: string
  /** Its users. A test may change the list, and the users in it. Tokens of a user who is not in the list are refused. */
  readonly users: ProviderUser[]
  /** Its requests so far, such as `POST /login/oauth/access_token`. */
  readonly requests: string[]
  /** Other answers, by path: what the provider should refuse, or more of its API, such as `/api/v3/user/repos`. */
  readonly answers: Map<string, ProviderAnswer>
  /** Seconds for which its access tokens are valid. With a number, each has a refresh token, too. Default: they do not expire. */
  expiresIn: number | undefined
  /**
   * Returns a function that signs a user in to a server, and returns the access token: `connect(server, { token: provider.tokenFor('ada') })`.
   * It does what an MCP client and its user do: registration, the consent page, the sign-in here, the exchange of the code.
   *
   * @throws Error for an unknown login. The function rejects with the reason when the server refuses the user
   */
  tokenFor(login: string, options?: SignInAsOptions): Token
}

type Grant = { readonly user: ProviderUser; readonly scope: string }
type Visit = Grant & { readonly redirectUri: string; readonly challenge: string; readonly nonce: string | null }
type Json = Record<string, unknown>
/** How a token endpoint answers. */
type TokenStyle = { readonly errorStatus: number; readonly separator: string }

/** The key of all fake providers: each of them signs for its own URL. */
let signingKey: Promise<SigningKey> | undefined

const json = (value: unknown, status = 200): Response => Response.json(value, { status })

export class Provider implements FakeProvider {
  readonly url: string
  readonly clientId = 'edge'
  readonly clientSecret = 'hush'
  readonly users: ProviderUser[]
  readonly requests: string[] = []
  readonly answers = new Map<string, ProviderAnswer>()
  expiresIn: number | undefined
  /** Who is signed in to the provider in every browser. `undefined`: a page asks. */
  signedIn: ProviderUser | undefined
  /** Access tokens. */
  readonly tokens = new Map<string, ProviderUser>()
  /** Refresh tokens, of which each works once. */
  readonly refreshTokens = new Map<string, Grant>()
  readonly #codes = new Map<string, Visit>()

  /** @param url its origin */
  constructor(url: string, users: ProviderUser[]) {
    this.url = new URL(url).origin
    this.users = users
  }

  tokenFor(login: string, { scopes, tenant, provider }: SignInAsOptions = {}): Token {
    this.#find(login)
    return async (resource) => {
      const run = { browser: new Browser({ login }), scopes, tenant, provider }
      return (await signIn(new URL(resource), run)).access_token
    }
  }

  /** Answers a request. */
  async respond(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url)
    this.requests.push(`${request.method} ${pathname}`)
    const next = () => this.#answer(request)
    return (await this.answers.get(pathname)?.(request, next)) ?? next()
  }

  async #answer(request: Request): Promise<Response> {
    const url = new URL(request.url)
    switch (url.pathname) {
      case '/.well-known/openid-configuration':
        return json(this.#metadata())
      case '/keys':
        return json({ keys: [(await key()).publicKey] })
      case '/authorize':
      case '/login/oauth/authorize':
        return this.#authorize(url)
      case '/token':
        return this.#token(request, { errorStatus: 400, separator: ' ' })
      // GitHub reports errors with status 200.
      case '/login/oauth/access_token':
        return this.#token(request, { errorStatus: 200, separator: ',' })
      default:
        return this.#api(url.pathname, request)
    }
  }

  #find(login: string): ProviderUser {
    const found = this.users.find((user) => user.login === login)
    if (found) return found
    throw new Error(`The provider has no user "${login}": it has ${this.users.map((user) => user.login).join(', ')}`)
  }

  #metadata(): Json {
    const { url } = this
    return {
      issuer: url,
      authorization_endpoint: `${url}/authorize`,
      token_endpoint: `${url}/token`,
      userinfo_endpoint: `${url}/userinfo`,
      jwks_uri: `${url}/keys`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      code_challenge_methods_supported: ['S256'],
      id_token_signing_alg_values_supported: [algorithm],
      token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'],
    }
  }

  #authorize({ searchParams }: URL): Response {
    const get = (name: string) => searchParams.get(name) ?? ''
    if (get('client_id') !== this.clientId)
      return refusal(`The client_id "${get('client_id')}" is not "${this.clientId}"`)
    if (get('code_challenge_method') !== 'S256') return refusal('The request has no code_challenge of the method S256')
    if (!URL.canParse(get('redirect_uri'))) return refusal(`The redirect_uri "${get('redirect_uri')}" is no URL`)
    const login = searchParams.get('login')
    const user = login === null ? this.signedIn : this.users.find((candidate) => candidate.login === login)
    if (!user) return this.#choice(searchParams)
    const code = crypto.randomUUID()
    this.#codes.set(code, {
      user,
      redirectUri: get('redirect_uri'),
      challenge: get('code_challenge'),
      scope: get('scope'),
      nonce: searchParams.get('nonce'),
    })
    const back = new URL(get('redirect_uri'))
    back.searchParams.set('state', get('state'))
    back.searchParams.set('code', code)
    return new Response(null, { status: 302, headers: { Location: back.href } })
  }

  /** The page on which a person chooses a user. */
  #choice(params: URLSearchParams): Response {
    const hidden = [...params].map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)
    const buttons = this.users.map(({ login }) => html`<p><button name="login" value="${login}">${login}</button>`)
    return page(200, html`<h1>Sign in as</h1><form>${hidden}${buttons}</form>`.text)
  }

  async #token(request: Request, { errorStatus, separator }: TokenStyle): Promise<Response> {
    const form = new URLSearchParams(await request.text())
    const [id, secret] = credentialsOf(request, form)
    if (id !== this.clientId || secret !== this.clientSecret) return json({ error: 'invalid_client' }, errorStatus)
    if (form.get('grant_type') === 'refresh_token') {
      const token = form.get('refresh_token') ?? ''
      const grant = this.refreshTokens.get(token)
      this.refreshTokens.delete(token)
      return grant && this.users.includes(grant.user)
        ? json(await this.#tokens(grant, null, separator))
        : json({ error: 'invalid_grant' }, errorStatus)
    }
    const code = form.get('code') ?? ''
    const visit = this.#codes.get(code)
    this.#codes.delete(code)
    const challenge = encodeBase64(await sha256(form.get('code_verifier') ?? ''), {
      alphabet: 'base64url',
      omitPadding: true,
    })
    const isValid = visit?.challenge === challenge && visit.redirectUri === form.get('redirect_uri')
    return isValid
      ? json(await this.#tokens(visit, visit.nonce, separator))
      : json({ error: 'invalid_grant' }, errorStatus)
  }

  async #tokens(grant: Grant, nonce: string | null, separator: string): Promise<Json> {
    const { user, scope } = grant
    const newToken = (kind: string) => `${kind}_${crypto.randomUUID().replaceAll('-', '')}`
    const [accessToken, refreshToken] = [newToken('gho'), newToken('ghr')]
    this.tokens.set(accessToken, user)
    if (this.expiresIn !== undefined) this.refreshTokens.set(refreshToken, grant)
    return {
      access_token: accessToken,
      token_type: 'bearer',
      scope: scope.replaceAll(' ', separator),
      ...(this.expiresIn !== undefined && { expires_in: this.expiresIn, refresh_token: refreshToken }),
      ...(scope.split(' ').includes('openid') && { id_token: await this.#idToken(user, nonce) }),
    }
  }

  async #idToken(user: ProviderUser, nonce: string | null): Promise<string> {
    const { privateKey, header } = await key()
    return new SignJWT({ ...claimsOf(user), ...(nonce !== null && { nonce }) })
      .setProtectedHeader(header)
      .setIssuer(this.url)
      .setAudience(this.clientId)
      .setIssuedAt()
      .setExpirationTime('1h')
      .sign(privateKey)
  }

  async #api(path: string, { headers, url }: Request): Promise<Response> {
    const user = this.tokens.get(headers.get('Authorization')?.replace(/^Bearer /i, '') ?? '')
    if (!user || !this.users.includes(user)) return json({ message: 'Bad credentials' }, 401)
    const { id, login, name = login, email = emailOf(user), organizations = [] } = user
    switch (path) {
      case '/userinfo':
        return json(claimsOf(user))
      case '/api/v3/user':
        return json({ id, login, name })
      case '/api/v3/user/orgs':
        return json(pageOf(organizations, url).map((organization) => ({ login: organization })))
      case '/api/v3/user/emails':
        return json([{ email, primary: true, verified: true }])
      default:
        return json({ message: 'Not Found' }, 404)
    }
  }
}

/** Returns a page of a list, as GitHub does. */
function pageOf<T>(list: readonly T[], url: string): readonly T[] {
  const { searchParams } = new URL(url)
  const [size, page] = [Number(searchParams.get('per_page') ?? 30), Number(searchParams.get('page') ?? 1)]
  return list.slice(size * (page - 1), size * page)
}

const key = (): Promise<SigningKey> => {
  signingKey ??= newSigningKey()
  return signingKey
}

const emailOf = ({ login }: ProviderUser): string => `${login}@example.com`

const claimsOf = (user: ProviderUser): Json => ({
  sub: String(user.id),
  name: user.name ?? user.login,
  preferred_username: user.login,
  email: user.email ?? emailOf(user),
  email_verified: true,
  ...(user.groups && { groups: user.groups }),
  ...user.claims,
})

/** RFC 6749, section 2.3.1. */
function credentialsOf({ headers }: Request, form: URLSearchParams): (string | null | undefined)[] {
  const [, basic] = /^Basic (.+)$/i.exec(headers.get('Authorization') ?? '') ?? []
  if (basic === undefined) return [form.get('client_id'), form.get('client_secret')]
  return atob(basic).split(':').map(decodeURIComponent)
}

const page = (status: number, markup: string): Response =>
  new Response(`<!doctype html>\n<meta charset="utf-8">\n<title>Sign in</title>\n${markup}`, {
    status,
    headers: { 'Content-Type': 'text/html; charset=utf-8' },
  })

const refusal = (reason: string): Response => page(400, html`<p>${reason}</p>`.text)
