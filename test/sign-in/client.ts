/** A client that sends what a test wants, without a library that would prevent it. */
import { createHash, randomBytes } from 'node:crypto'
import { Browser } from '../../worker/testing/provider/browser.ts'
import { bearing, call } from '../auth/call.ts'

export type Registered = { readonly id: string; readonly secret: string | undefined }

export type Tokens = { readonly access_token: string; readonly refresh_token: string; readonly scope: string }

/** A request for a code, and what redeems the code. */
export type Asked = { readonly url: URL; readonly verifier: string; readonly client: Registered }

export const redirectUri = 'http://127.0.0.1:9/callback'

export class RawClient {
  readonly server: URL

  constructor(server: URL) {
    this.server = server
  }

  at(path: string): URL {
    return new URL(path, this.server)
  }

  register(metadata: Readonly<Record<string, unknown>> = {}, headers: HeadersInit = {}): Promise<Response> {
    return fetch(this.at('/oauth/register'), {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify({
        client_name: 'A client',
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code', 'refresh_token'],
        ...metadata,
      }),
    })
  }

  async registered(metadata: Readonly<Record<string, unknown>> = {}): Promise<Registered> {
    const response = await this.register(metadata)
    const { client_id: id, client_secret: secret } = (await response.json()) as Record<string, string>
    if (id === undefined) throw new Error(`registration: ${response.status}`)
    return { id, secret }
  }

  /** @param changes of the parameters; `undefined` leaves one out */
  ask(client: Registered, changes: Readonly<Record<string, string | undefined>> = {}): Asked {
    const verifier = randomBytes(32).toString('base64url')
    const url = this.at('/authorize')
    const params: Record<string, string | undefined> = {
      response_type: 'code',
      client_id: client.id,
      redirect_uri: redirectUri,
      state: 'its-state',
      scope: 'notes:read notes:write',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...changes,
    }
    for (const [name, value] of Object.entries(params)) if (value !== undefined) url.searchParams.set(name, value)
    return { url, verifier, client }
  }

  /** Sends a form to the token endpoint. */
  token(form: Readonly<Record<string, string>> | string, headers: HeadersInit = {}): Promise<Response> {
    return fetch(this.at('/oauth/token'), {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...Object.fromEntries(new Headers(headers)) },
      body: typeof form === 'string' ? form : new URLSearchParams(form).toString(),
    })
  }

  /** The form that redeems a code. */
  codeForm({ client, verifier }: Asked, code: string): Record<string, string> {
    return {
      grant_type: 'authorization_code',
      code,
      client_id: client.id,
      redirect_uri: redirectUri,
      code_verifier: verifier,
    }
  }

  refreshForm({ id }: Registered, refreshToken: string): Record<string, string> {
    return { grant_type: 'refresh_token', refresh_token: refreshToken, client_id: id }
  }

  /** A code, for a user who allows everything. */
  async code(asked: Asked, browser = new Browser(), decision = 'github'): Promise<string> {
    const params = await browser.authorize(asked.url, { decision })
    const code = params.get('code')
    if (code === null) throw new Error(`no code: ${params}`)
    return code
  }

  async signIn(browser = new Browser()): Promise<{ client: Registered; tokens: Tokens; asked: Asked; code: string }> {
    const client = await this.registered()
    const asked = this.ask(client)
    const code = await this.code(asked, browser)
    const response = await this.token(this.codeForm(asked, code))
    if (response.status !== 200) throw new Error(await response.text())
    return { client, asked, code, tokens: (await response.json()) as Tokens }
  }

  /** Calls a tool: its status, and what it said. */
  async call(token: string, tool = 'whoami'): Promise<string> {
    const { status, text } = await call(this.server, bearing(token), tool)
    return `${status} ${text}`
  }
}

/** The page for a client that this server does not know, as `seen` returns it. */
export const unknownApp =
  '400 page: Your app is not registered at this server, or its registration has expired. Remove this server in the app and add it again.'

/** What a response says, in one line: `400 invalid_grant`, `400 page: The form has no decision.`, `302 http://… code state`, `400 page to http://… error=…`. */
export async function seen(response: Response): Promise<string> {
  const { status, headers } = response
  const location = headers.get('Location')
  const text = await response.text()
  const [, linked] = /<a class="button" href="([^"]+)"/.exec(text) ?? []
  if (location !== null) return `${status} ${urlIn(location)}`
  if (linked !== undefined) return `${status} page to ${urlIn(linked.replaceAll('&#38;', '&'))}`
  if (headers.get('Content-Type')?.startsWith('text/html')) return `${status} page: ${paragraph(text)}`
  if (text.startsWith('{')) return `${status} ${JSON.parse(text).error ?? 'granted'}`
  return `${status} ${text}`.trim()
}

function urlIn(text: string): string {
  const { origin, pathname, searchParams } = new URL(text)
  const params = [...searchParams].map(([name, value]) => (name === 'error' ? `error=${value}` : name)).sort()
  return [`${origin.replace(/:\d+/, '')}${pathname}`, ...params].join(' ')
}

const paragraph = (page: string): string =>
  page.includes('name="handle"')
    ? 'consent'
    : (/<p>(.*?)<\/p>/.exec(page)?.[1]?.replace(' Start again in your app.', '') ?? page)
