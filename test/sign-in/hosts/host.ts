/** What a host program does for authorization, step by step, as its published code or documentation shows. */
import { createHash, randomBytes } from 'node:crypto'
import { extractWWWAuthenticateParams } from '@modelcontextprotocol/client'
import type { Browser } from '../../../worker/testing/provider/browser.ts'
import type { Tokens } from '../client.ts'

export type Json = Readonly<Record<string, unknown>>

export type Host = {
  readonly name: string
  /** Where its metadata document is, and what is in it. */
  readonly document?: { readonly url: string; readonly metadata: Json }
  /** What it registers. */
  readonly registration?: Json
  /** The redirect URI of its requests. */
  readonly redirectUri: string
  /** That of later requests, when its port is another one. Default: the same. */
  readonly laterRedirectUri?: string
  /** Whether it refuses metadata whose `resource` is not what the user entered: RFC 9728, section 3.3. */
  readonly isStrict?: boolean
  /** Whether it sends `resource`: RFC 8707. */
  readonly sendsResource: boolean
  /** The scopes that it requests: those of the challenge, those of the metadata, none, or its own. */
  readonly scope: 'challenge' | 'metadata' | 'none' | { readonly own: string }
  /** How it authenticates at the token endpoint, if the registration does not say it. */
  readonly authentication?: 'client_secret_basic' | 'client_secret_post' | 'none'
}

type Metadata = {
  readonly issuer: string
  readonly authorization_endpoint: string
  readonly token_endpoint: string
  readonly registration_endpoint: string
  readonly client_id_metadata_document_supported?: boolean
  readonly grant_types_supported: readonly string[]
}

type Client = { readonly id: string; readonly secret: string | undefined; readonly authentication: string }

/** The error of a token response. */
export class TokenError extends Error {}

/** One installation of a host. */
export class Program {
  readonly host: Host
  /** The URL that the user entered. */
  readonly entered: URL
  client: Client | undefined
  tokens: Tokens | undefined
  /** The parameters of the last authorization request. */
  asked: URLSearchParams | undefined
  /** What was sent to the token endpoint. */
  readonly sent: URLSearchParams[] = []
  registrations = 0
  #signIns = 0

  constructor(host: Host, entered: URL) {
    this.host = host
    this.entered = entered
  }

  /** Sends a message of a client of 2025-06-18, which all hosts understand. */
  post(method: string, params: Json, token = this.tokens?.access_token): Promise<Response> {
    return fetch(this.entered, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
  }

  /** Connects, calls a tool, and signs its user in or requests more scopes where the server says so. Returns what the tool said. */
  async call(tool: string, browser: Browser, scopes?: readonly string[]): Promise<string> {
    for (let attempts = 0; attempts < 3; attempts++) {
      const response = await this.#callOnce(tool)
      if (response.status === 200) return JSON.parse(await response.text()).result.content[0].text
      if (response.status !== 401 && response.status !== 403) throw new Error(`${response.status}`)
      const isRefreshed = response.status === 401 && this.tokens !== undefined && (await this.#refreshOrForget())
      if (!isRefreshed) await this.signIn(response, browser, scopes)
    }
    throw new Error('The server refuses new tokens')
  }

  async #callOnce(tool: string): Promise<Response> {
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'host', version: '1' } }
    const opened = await this.post('initialize', params)
    if (opened.status !== 200) return opened
    await opened.body?.cancel()
    return fetch(this.entered, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        'MCP-Protocol-Version': '2025-06-18',
        'Mcp-Session-Id': opened.headers.get('Mcp-Session-Id') ?? '',
        Authorization: `Bearer ${this.tokens?.access_token}`,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: tool, arguments: {} } }),
    })
  }

  /** Whether there are new tokens. A client that the server does not know forgets its registration. */
  async #refreshOrForget(): Promise<boolean> {
    try {
      await this.refresh()
      return true
    } catch (problem) {
      if (!(problem instanceof TokenError)) throw problem
      this.tokens = undefined
      if (problem.message === 'invalid_client') this.client = undefined
      return false
    }
  }

  /** @param refused the response with the challenge */
  async signIn(refused: Response, browser: Browser, scopes?: readonly string[]): Promise<void> {
    const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(refused)
    const { resource, authorization_servers, scopes_supported } = await json<{
      resource: string
      authorization_servers: string[]
      scopes_supported?: string[]
    }>(resourceMetadataUrl as URL)
    if (this.host.isStrict && new URL(resource).href !== this.entered.href) throw new Error(`resource is ${resource}`)
    const metadata = await json<Metadata>(
      new URL('/.well-known/oauth-authorization-server', authorization_servers[0] as string),
    )
    this.client ??= await this.#register(metadata)
    const { redirectUri, laterRedirectUri = redirectUri } = this.host
    const redirect = this.#signIns++ === 0 ? redirectUri : laterRedirectUri
    const verifier = randomBytes(32).toString('base64url')
    // Those of ChatGPT have more than 400 characters.
    const state = randomBytes(450).toString('base64url')
    const url = new URL(metadata.authorization_endpoint)
    const wanted = this.#scope(scope, scopes_supported)
    const params = {
      response_type: 'code',
      client_id: this.client.id,
      redirect_uri: redirect,
      state,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...(wanted !== undefined && { scope: wanted }),
      ...(this.host.sendsResource && { resource }),
    }
    for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value)
    this.asked = url.searchParams
    const returned = await browser.authorize(url, { decision: 'github', ...(scopes && { scopes }) })
    if (returned.get('state') !== state || returned.get('iss') !== metadata.issuer) throw new Error('A foreign answer')
    const code = returned.get('code')
    if (code === null) throw new Error(`${returned.get('error')}: ${returned.get('error_description')}`)
    this.tokens = await this.#token(metadata.token_endpoint, {
      grant_type: 'authorization_code',
      code,
      code_verifier: verifier,
      redirect_uri: redirect,
      ...(this.host.sendsResource && { resource }),
    })
  }

  /** Exchanges the refresh token. @throws TokenError */
  async refresh(): Promise<Tokens> {
    const tokens = await this.#token(new URL('/oauth/token', this.entered).href, {
      grant_type: 'refresh_token',
      refresh_token: this.tokens?.refresh_token ?? '',
      ...(this.host.sendsResource && { resource: this.entered.href }),
    })
    this.tokens = tokens
    return tokens
  }

  #scope(challenged: string | undefined, published: readonly string[] | undefined): string | undefined {
    const { scope } = this.host
    if (typeof scope === 'object') return scope.own
    if (scope === 'none') return undefined
    return scope === 'metadata' ? published?.join(' ') : (challenged ?? published?.join(' '))
  }

  async #register({ registration_endpoint, client_id_metadata_document_supported }: Metadata): Promise<Client> {
    const { document, registration, authentication = 'none' } = this.host
    if (document && client_id_metadata_document_supported)
      return { id: document.url, secret: undefined, authentication }
    this.registrations++
    const response = await fetch(registration_endpoint, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(registration),
    })
    const registered = (await response.json()) as Record<string, string>
    if (response.status !== 201) throw new Error(`${registered.error}: ${registered.error_description}`)
    // ChatGPT refuses an answer without it.
    if (!String(registered.grant_types).split(',').includes('refresh_token')) throw new Error('There is no refresh')
    const { client_id: id = '', client_secret: secret, token_endpoint_auth_method: method = 'none' } = registered
    return { id, secret, authentication: method }
  }

  async #token(endpoint: string, form: Record<string, string>): Promise<Tokens> {
    const { id, secret = '', authentication } = this.client as Client
    const body = new URLSearchParams(form)
    const headers = new Headers()
    if (authentication === 'client_secret_basic') headers.set('Authorization', `Basic ${btoa(`${id}:${secret}`)}`)
    else body.set('client_id', id)
    if (authentication === 'client_secret_post') body.set('client_secret', secret)
    this.sent.push(body)
    const response = await fetch(endpoint, { method: 'POST', headers, body })
    const answer = (await response.json()) as Tokens & { error?: string }
    if (response.status !== 200) throw new TokenError(answer.error)
    return answer
  }
}

async function json<T>(url: URL): Promise<T> {
  const response = await fetch(url, { headers: { Accept: 'application/json' } })
  if (response.status !== 200) throw new Error(`${url.pathname} ${response.status}`)
  return (await response.json()) as T
}

/** Another process of the same installation: it shares what the first one stored. */
export function sibling({ host, entered, client, tokens }: Program): Program {
  return Object.assign(new Program(host, entered), { client, tokens })
}
