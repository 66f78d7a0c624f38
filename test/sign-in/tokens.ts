/** A client that does the OAuth flow by hand: registers itself, sends the user to the pages, exchanges the code. */
import { createHash, randomBytes } from 'node:crypto'
import { objectName } from '../../worker/plugins/sign-in/object-names.ts'
import type { Browser } from './browser.ts'

export type Tokens = {
  access_token: string
  refresh_token: string
  expires_in: number
  scope: string
  client_id: string
}

const redirectUri = 'http://127.0.0.1:9/callback'

/** Signs the user of the browser in with GitHub. @param endpoint the URL of the MCP endpoint */
export async function signInAs(endpoint: URL, browser: Browser, scope?: string): Promise<Tokens> {
  const registered = await fetch(new URL('/oauth/register', endpoint), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ redirect_uris: [redirectUri], client_name: 'A client', token_endpoint_auth_method: 'none' }),
  })
  const { client_id } = (await registered.json()) as { client_id: string }
  const verifier = randomBytes(32).toString('base64url')
  const url = new URL('/authorize', endpoint)
  url.search = String(
    new URLSearchParams({
      response_type: 'code',
      client_id,
      redirect_uri: redirectUri,
      scope: scope ?? 'notes:read notes:write',
      state: 'a state',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      resource: endpoint.href,
    }),
  )
  const returned = await browser.authorize(url, { decision: 'github' })
  const code = returned.get('code')
  if (code === null) throw new Error(`${returned}`)
  const response = await tokenRequest(endpoint, {
    grant_type: 'authorization_code',
    code,
    code_verifier: verifier,
    client_id,
    redirect_uri: redirectUri,
  })
  return { ...((await response.json()) as Tokens), client_id }
}

/** The name of an object of the server of these tests. */
export const objectAt = ({ origin }: URL, key: string): string =>
  objectName({ origin, identity: '["notes","/mcp"]' }, key)

/** Sends a request to the token endpoint. */
export const tokenRequest = (endpoint: URL, params: Record<string, string>): Promise<Response> =>
  fetch(new URL('/oauth/token', endpoint), { method: 'POST', body: new URLSearchParams(params) })
