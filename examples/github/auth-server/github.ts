/**
 * A provider for this machine that works as GitHub does: OAuth 2.0 without metadata, errors with status 200, and an API that tells who the user
 * is. It keeps nothing.
 *
 * @see https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps
 */
import { createHash, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export type Account = { id: number; login: string; name: string | null; organizations?: string[] }

type Visit = { account: Account; redirectUri: string; challenge: string; scope: string }

export class GitHub implements AsyncDisposable {
  readonly url: string
  /** Who is signed in to GitHub in the browser. */
  account: Account = { id: 1815, login: 'ada', name: 'Ada Lovelace', organizations: ['Engines'] }
  /** Whether a page asks who the user is. */
  asks = false
  /** Whether the user declines at GitHub. */
  declines = false
  /** What was asked, such as `POST /login/oauth/access_token`. */
  readonly asked: string[] = []
  /** Access tokens, and who they stand for. */
  readonly tokens = new Map<string, Account>()
  /** Issues that were created. */
  readonly issues: { title: string }[] = []
  /** Answers a path in another way. */
  readonly instead = new Map<string, (request: IncomingMessage, response: ServerResponse) => unknown>()
  /** Seconds for which access tokens are valid; `undefined`: for ever, and there are no refresh tokens. */
  expiresIn: number | undefined
  /** Returns the scopes that the user grants, as GitHub spells them; `undefined` leaves them out of the response. */
  grantedScopes: (requested: string) => string | undefined = (requested) => requested
  /** Refresh tokens that work. */
  readonly refreshTokens = new Map<string, { account: Account; scope: string }>()
  /** Refresh tokens that were sent, in order. */
  readonly refreshed: string[] = []
  /** Refresh tokens that were sent while the same one was being answered. */
  overlaps = 0
  /** Awaited before a refresh is answered. */
  beforeRefresh: (() => Promise<unknown>) | undefined
  readonly #refreshing = new Set<string>()
  readonly #codes = new Map<string, Visit>()
  readonly #server: ReturnType<typeof createServer>

  private constructor(server: ReturnType<typeof createServer>) {
    this.#server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    server.on('request', async (request: IncomingMessage, response: ServerResponse) => {
      const url = new URL(request.url ?? '', this.url)
      this.asked.push(`${request.method} ${url.pathname}`)
      const other = this.instead.get(url.pathname)
      if (other) return other(request, response)
      if (url.pathname === '/login/oauth/authorize') return this.#authorize(url, response)
      if (url.pathname === '/login/oauth/access_token') return this.#issue(request, response)
      return this.#api(url, request, response)
    })
  }

  /** @param port Default: one that is free */
  static async start(port = 0): Promise<GitHub> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
    return new GitHub(server)
  }

  #authorize({ searchParams }: URL, response: ServerResponse) {
    const login = searchParams.get('login')
    if (this.asks && login === null)
      return response.writeHead(200, { 'Content-Type': 'text/html' }).end(signInPage(searchParams))
    if (login) this.account = { id: idOf(login), login, name: login }
    const back = new URL(searchParams.get('redirect_uri') ?? '')
    back.searchParams.set('state', searchParams.get('state') ?? '')
    if (this.declines) back.searchParams.set('error', 'access_denied')
    else {
      const code = randomUUID()
      this.#codes.set(code, {
        account: this.account,
        redirectUri: searchParams.get('redirect_uri') ?? '',
        challenge: searchParams.get('code_challenge') ?? '',
        scope: searchParams.get('scope') ?? '',
      })
      back.searchParams.set('code', code)
    }
    response.writeHead(302, { Location: back.href }).end()
  }

  async #issue(request: IncomingMessage, response: ServerResponse) {
    const form = new URLSearchParams(await text(request))
    if (form.get('grant_type') === 'refresh_token') return this.#refresh(form, response)
    const visit = this.#codes.get(form.get('code') ?? '')
    this.#codes.delete(form.get('code') ?? '')
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    const isGood =
      visit?.challenge === challenge &&
      visit.redirectUri === form.get('redirect_uri') &&
      form.get('client_id') === 'edge' &&
      form.get('client_secret') === 'hush'
    if (!visit || !isGood) return json(response, { error: 'bad_verification_code' })
    return this.#tokens(response, visit.account, visit.scope)
  }

  #tokens(response: ServerResponse, account: Account, scope: string) {
    const token = `gho_${randomUUID().replaceAll('-', '')}`
    this.tokens.set(token, account)
    const { expiresIn } = this
    const refreshToken = `ghr_${randomUUID().replaceAll('-', '')}`
    if (expiresIn !== undefined) this.refreshTokens.set(refreshToken, { account, scope })
    return json(response, {
      access_token: token,
      token_type: 'bearer',
      scope: this.grantedScopes(scope)?.replaceAll(' ', ','),
      ...(expiresIn !== undefined && { expires_in: expiresIn, refresh_token: refreshToken }),
    })
  }

  /** Rotates a refresh token: it works once. */
  async #refresh(form: URLSearchParams, response: ServerResponse) {
    const token = form.get('refresh_token') ?? ''
    this.refreshed.push(token)
    if (this.#refreshing.has(token)) this.overlaps += 1
    this.#refreshing.add(token)
    const found = this.refreshTokens.get(token)
    this.refreshTokens.delete(token)
    await this.beforeRefresh?.()
    this.#refreshing.delete(token)
    if (!found) return json(response, { error: 'bad_refresh_token' })
    return this.#tokens(response, found.account, found.scope)
  }

  async #api({ pathname }: URL, request: IncomingMessage, response: ServerResponse) {
    const { headers, method } = request
    const account = this.tokens.get(headers.authorization?.replace('Bearer ', '') ?? '')
    if (!account) return json(response, { message: 'Bad credentials' }, 401)
    const { id, login, name, organizations = [] } = account
    if (pathname === '/api/v3/user') return json(response, { id, login, name })
    if (pathname === '/api/v3/user/orgs')
      return json(
        response,
        organizations.map((login) => ({ login })),
      )
    if (pathname === '/api/v3/user/emails')
      return json(response, [{ email: `${login}@example.com`, primary: true, verified: true }])
    if (pathname === '/api/v3/user/repos')
      return json(
        response,
        [`${login}/notes`, `${login}/engine`].map((full_name) => ({ full_name })),
      )
    if (method === 'POST' && pathname.endsWith('/issues')) {
      this.issues.push(JSON.parse(await text(request)))
      const path = pathname.replace('/api/v3/repos', '')
      return json(response, { html_url: `${this.url}${path}/${this.issues.length}` }, 201)
    }
    return json(response, { message: 'Not Found' }, 404)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

const idOf = (login: string) => [...login].reduce((sum, character) => sum * 31 + character.charCodeAt(0), 7)

const signInPage = (params: URLSearchParams) => `<!doctype html>
<title>Sign in to the stand-in for GitHub</title>
<h1>Sign in to the stand-in for GitHub</h1>
<form>${[...params].map(([name, value]) => `<input type="hidden" name="${escaped(name)}" value="${escaped(value)}">`).join('')}
<label>Login <input name="login" value="ada" required autofocus></label> <button>Sign in</button></form>`

const escaped = (value: string) => value.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

function json(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value))
}
