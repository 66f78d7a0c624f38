/** The authorize page: signs the user in, and asks whether the client may act for the user. */
import { AuthorizationError, CimdFetchError, type ConsentDescription } from '@cloudflare/workers-oauth-provider'
import { users } from './api.ts'

/** What OAuthProvider stores with a grant, encrypted, and passes on with each request of its tokens. */
export type Props = {
  readonly userId: string
  readonly accounts: readonly string[]
  readonly apiToken: string
}

export async function authorize(request: Request, { OAUTH_PROVIDER: oauth }: Cloudflare.Env): Promise<Response> {
  try {
    if (request.method !== 'POST') return await showConsent(request, oauth)
    const form = await request.formData()
    const handle = String(form.get('handle'))
    if (form.get('decision') !== 'approve') {
      return new Response(null, { status: 302, headers: (await oauth.denyConsent(request, handle)).headers })
    }
    return await grant(request, handle, form, oauth)
  } catch (problem) {
    if (problem instanceof AuthorizationError && problem.redirectTo) return Response.redirect(problem.redirectTo, 302)
    if (problem instanceof AuthorizationError) return new Response(problem.description, { status: 400 })
    if (problem instanceof CimdFetchError) return new Response('This app could not be verified.', { status: 400 })
    throw problem
  }
}

type OAuth = Cloudflare.Env['OAUTH_PROVIDER']

async function showConsent(request: Request, oauth: OAuth): Promise<Response> {
  const authorization = await oauth.parseAuthRequest(request)
  const description = await oauth.describeConsent(authorization)
  const { handle, headers } = await oauth.beginConsent(authorization)
  headers.set('Content-Type', 'text/html; charset=utf-8')
  return new Response(page(description, handle), { headers })
}

async function grant(request: Request, handle: string, form: FormData, oauth: OAuth): Promise<Response> {
  const userId = String(form.get('user'))
  const user = users[userId]
  if (!user) return new Response('There is no such user.', { status: 400 })
  const { request: authorization, headers } = await oauth.approveConsent(request, handle)
  const props: Props = { userId, accounts: user.accounts, apiToken: user.apiToken }
  const { redirectTo } = await oauth.completeAuthorization({
    request: authorization,
    userId,
    metadata: {},
    scope: authorization.scope,
    props,
  })
  headers.set('Location', redirectTo)
  return new Response(null, { status: 302, headers })
}

// The client chooses its name and the scopes.
const escapeHtml = (text: string) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

function page(
  { clientName, clientDomain, redirectHost, redirectIsLoopback, scope }: ConsentDescription,
  handle: string,
) {
  const publisher = clientDomain ? `is published by ${escapeHtml(clientDomain)}` : 'registered itself'
  const signIn = Object.entries(users).map(([id, { name }]) => `<option value="${id}">${escapeHtml(name)}</option>`)
  return `<!doctype html>
<meta charset="utf-8">
<title>Authorize ${escapeHtml(clientName)}</title>
<h1>Allow ${escapeHtml(clientName)} to use your projects?</h1>
<p>This app ${publisher}. Access is sent to <strong>${escapeHtml(redirectHost)}</strong>${redirectIsLoopback ? ', an app on your computer' : ''}.</p>
<ul>${scope.map((name) => `<li>${escapeHtml(name)}</li>`).join('')}</ul>
<form method="post">
  <input type="hidden" name="handle" value="${escapeHtml(handle)}">
  <label>Sign in as <select name="user">${signIn.join('')}</select></label>
  <button name="decision" value="approve">Allow</button>
  <button name="decision" value="deny">Deny</button>
</form>`
}
