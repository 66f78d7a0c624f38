/** A client that signs its user in as MCP asks: discovery, registration, authorization code with PKCE. */
import { encodeBase64 } from '../../protocol/base64.ts'
import { sha256 } from '../../sealing/sha256.ts'
import type { Browser } from './browser.ts'

/** The answer of the token endpoint, and the client that asked. */
export type SignInTokens = {
  readonly access_token: string
  readonly refresh_token: string
  readonly expires_in: number
  readonly scope: string
  readonly client_id: string
}

/** Configures a sign-in. */
export type SignInRun = {
  /** The user, with the cookies of other sign-ins. */
  readonly browser: Browser
  /** Name of the provider that the user chooses. Default: the first one of the page. */
  readonly provider?: string | undefined
  /** Scopes that the client requests. Default: those that the server declares. */
  readonly requested?: string | undefined
  /** Scopes that the user allows. Default: all that the page offers. */
  readonly scopes?: readonly string[] | undefined
  /** Organization that the user chooses. Default: none. */
  readonly tenant?: string | undefined
}

/** Nothing listens there: the browser stops before it. */
const redirectUri = 'http://127.0.0.1:9/callback'

const encoded = (bytes: Uint8Array): string => encodeBase64(bytes, { alphabet: 'base64url', omitPadding: true })

/**
 * Signs a user in at the authorization server of an MCP endpoint.
 *
 * @throws Error when the user is refused: the error and the description that the client receives
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization
 */
export async function signIn(endpoint: URL, { browser, ...answers }: SignInRun): Promise<SignInTokens> {
  const json = async (what: string, request: Request): Promise<Record<string, unknown>> => {
    const response = await fetch(request)
    const body = await response.text()
    if (!response.ok) throw new Error(`${what} answered with status ${response.status}: ${body.slice(0, 500)}`)
    return JSON.parse(body)
  }
  const wellKnown = async (name: string, { origin, pathname }: URL) =>
    json(`The ${name} metadata`, new Request(`${origin}/.well-known/${name}${pathname === '/' ? '' : pathname}`))

  const { authorization_servers: issuers = [] } = await wellKnown('oauth-protected-resource', endpoint)
  const [issuer] = Array.isArray(issuers) ? issuers : []
  const server = await wellKnown('oauth-authorization-server', new URL(String(issuer)))
  const registration = new Request(String(server.registration_endpoint), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({
      client_name: 'edgemcp-testing',
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
    }),
  })
  const clientId = String((await json('The registration', registration)).client_id)

  const verifier = encoded(crypto.getRandomValues(new Uint8Array(32)))
  const state = crypto.randomUUID()
  const url = new URL(String(server.authorization_endpoint))
  url.search = String(
    new URLSearchParams({
      response_type: 'code',
      client_id: clientId,
      redirect_uri: redirectUri,
      state,
      code_challenge: encoded(await sha256(verifier)),
      code_challenge_method: 'S256',
      resource: endpoint.href,
      ...(answers.requested !== undefined && { scope: answers.requested }),
    }),
  )
  const returned = await browser.authorize(url, { ...answers, decision: answers.provider })
  const code = returned.get('code')
  if (code === null) throw new Error(`${returned.get('error')}: ${returned.get('error_description')}`)
  if (returned.get('state') !== state) throw new Error('The authorization server returned another state')

  const form = {
    grant_type: 'authorization_code',
    code,
    code_verifier: verifier,
    client_id: clientId,
    redirect_uri: redirectUri,
    resource: endpoint.href,
  }
  const exchange = new Request(String(server.token_endpoint), { method: 'POST', body: new URLSearchParams(form) })
  // RFC 6749, section 5.1.
  return { ...((await json('The token endpoint', exchange)) as Omit<SignInTokens, 'client_id'>), client_id: clientId }
}
