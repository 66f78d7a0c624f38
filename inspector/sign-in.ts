/**
 * Signs the user in at the authorization server of this origin, which `signIn()` makes of a server: authorization code with PKCE, in this
 * tab.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization
 */
import { encodeBase64 } from '../worker/protocol/base64.ts'
import { utf8 } from '../worker/protocol/utf8.ts'
import { save, saved } from './saved.ts'

type Metadata = Readonly<
  Record<'issuer' | 'authorization_endpoint' | 'token_endpoint' | 'registration_endpoint', string>
>
/** What the page keeps while its user is at another one. */
type Visit = { readonly state: string; readonly verifier: string; readonly clientId: string }

const metadataUrl = '/.well-known/oauth-authorization-server'
const redirectUri = `${location.origin}/`

/** Returns whether users can sign in at this origin. */
export const canSignIn = async (): Promise<boolean> => {
  const response = await fetch(metadataUrl).catch(() => undefined)
  return response?.ok === true && 'registration_endpoint' in ((await response.json()) as Metadata)
}

/** Leaves this page for the consent page. @param mcp the path of the server @throws Error with the reason of the server */
export async function startSignIn(mcp: string): Promise<void> {
  const { authorization_endpoint, registration_endpoint } = await answerOf<Metadata>(metadataUrl)
  const registration = {
    client_name: 'edgemcp inspector',
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code'],
    response_types: ['code'],
  }
  const headers = { 'Content-Type': 'application/json' }
  const init = { method: 'POST', headers, body: JSON.stringify(registration) }
  const { client_id: clientId } = await answerOf<{ client_id: string }>(registration_endpoint, init)
  const visit: Visit = { state: random(), verifier: random(), clientId }
  save('sign-in', visit)
  const url = new URL(authorization_endpoint)
  url.search = String(
    new URLSearchParams({
      response_type: 'code',
      client_id: clientId,
      redirect_uri: redirectUri,
      state: visit.state,
      code_challenge: base64url(new Uint8Array(await crypto.subtle.digest('SHA-256', utf8(visit.verifier)))),
      code_challenge_method: 'S256',
      resource: new URL(mcp, location.origin).href,
    }),
  )
  location.assign(url)
}

/**
 * Exchanges the code with which the consent page sends the browser back.
 *
 * @returns the access token; `undefined` if the page was opened in another way
 * @throws Error with the reason of the server
 */
export async function finishSignIn(mcp: string): Promise<string | undefined> {
  const params = new URLSearchParams(location.search)
  const { state, verifier = '', clientId = '' } = Object(saved('sign-in')) as Partial<Visit>
  if (state === undefined || params.get('state') !== state) return undefined
  save('sign-in', undefined)
  // A reload of the page must not send the code again.
  history.replaceState(null, '', '/')
  const { issuer, token_endpoint } = await answerOf<Metadata>(metadataUrl)
  // RFC 9207, section 2.4.
  if ((params.get('iss') ?? issuer) !== issuer) throw new Error('The answer is of another authorization server')
  const code = params.get('code')
  if (code === null)
    throw new Error(params.get('error_description') ?? params.get('error') ?? 'The user did not sign in')
  const form = {
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    client_id: clientId,
    code_verifier: verifier,
    resource: new URL(mcp, location.origin).href,
  }
  const init = { method: 'POST', body: new URLSearchParams(form) }
  return (await answerOf<{ access_token: string }>(token_endpoint, init)).access_token
}

async function answerOf<T>(url: string, init?: RequestInit): Promise<T> {
  const response = await fetch(url, init)
  // The bodies of the authorization server are objects.
  const body = (await response.json().catch(() => ({}))) as T & { error?: string; error_description?: string }
  if (!response.ok) throw new Error(body.error_description ?? body.error ?? `${url} answered with ${response.status}`)
  return body
}

const base64url = (bytes: Uint8Array<ArrayBuffer>) => encodeBase64(bytes, { alphabet: 'base64url', omitPadding: true })

const random = (): string => base64url(crypto.getRandomValues(new Uint8Array(32)))
