/** The page that asks whether a client may act for the user, and pages that tell why sign-in failed. */
import type { ConsentDescription } from '@cloudflare/workers-oauth-provider'
import { encodeBase64 } from '../../protocol/base64.ts'
import { Html, html } from '../../protocol/html.ts'
import { sha256 } from '../../sealing/sha256.ts'
import { paths } from './authorization-server.ts'
import type { IdentityProvider } from './providers/provider.ts'

const style = `:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}
body{max-width:28rem;margin:10vh auto;padding:0 1.25rem}
h1{font-size:1.35rem;line-height:1.3}
fieldset{border:1px solid #8886;border-radius:.5rem;margin:1rem 0;padding:.75rem 1rem}
label{display:block}
code{overflow-wrap:anywhere}
button,a.button{display:block;box-sizing:border-box;width:100%;margin:.5rem 0;padding:.65rem;font:inherit;border:1px solid #8888;border-radius:.5rem;background:none;color:inherit;cursor:pointer;text-align:center;text-decoration:none}
button.allow{background:#0b6b4a;border-color:#0b6b4a;color:#fff}
button:focus-visible,a.button:focus-visible{outline:3px solid #2a7de1;outline-offset:2px}
.note{border-left:4px solid #b58900;padding-left:.75rem}`

/** Characters of the name of a client. */
const maxNameCharacters = 100

/** What the consent page shows. */
export type Consent = {
  /** Title of the MCP server. */
  readonly server: string
  readonly client: ConsentDescription
  /** Posted back with the decision. */
  readonly handle: string
  readonly providers: readonly IdentityProvider[]
  /** Of scopes, for users. */
  readonly descriptions: Readonly<Record<string, string>>
}

/** @param headers bind the page to this browser */
export async function consentPage(request: Request, consent: Consent, headers: Headers): Promise<Response> {
  return htmlPage(
    request,
    200,
    `Allow access to ${consent.server}?`,
    consentOf(consent),
    [formPolicy(consent.client)],
    headers,
  )
}

/** The forms lead to the provider, or back to the client: browsers apply the directive to redirects too. `*` is http and https only. */
const formPolicy = ({ redirectUri }: ConsentDescription): string => `form-action * ${new URL(redirectUri).protocol}`

/** What the page shows that asks a user for the tenant. */
export type TenantChoice = Pick<Consent, 'client' | 'handle'> & { readonly tenants: readonly string[] }

/** @param headers bind the page to this browser */
export const tenantPage = (
  request: Request,
  { client, handle, tenants }: TenantChoice,
  headers: Headers,
): Promise<Response> => {
  const content = html`<h1>For which organization may <strong>${printable(client.clientName)}</strong> act?</h1>
<form method="post" action="${paths.authorize}">
<input type="hidden" name="handle" value="${handle}">
${tenants.map((tenant) => html`<button name="tenant" value="${tenant}">${tenant}</button>`)}
<button name="decision" value="deny">Deny</button>
</form>`
  return htmlPage(request, 200, 'Choose an organization', content, [formPolicy(client)], headers)
}

/** @param sentence tells the user what happened */
export const messagePage = (
  request: Request,
  status: number,
  title: string,
  sentence: string,
  headers?: Headers,
): Promise<Response> =>
  htmlPage(request, status, title, html`<h1>${title}</h1><p>${sentence}</p>`, ["form-action 'none'"], headers)

/** @param reason a sentence for the user */
export const problemPage = (request: Request, status: number, reason: string, headers?: Headers): Promise<Response> =>
  messagePage(request, status, 'Sign-in failed', `${reason} Start again in your app.`, headers)

/** Shows an error of the request of a client, with a link to the client. @param url tells the client the error */
export function returnPage(request: Request, description: string, url: string): Promise<Response> {
  const { protocol, host } = new URL(url)
  const place = /^https?:$/.test(protocol) ? host : protocol
  return htmlPage(
    request,
    400,
    'Sign-in failed',
    html`<h1>Sign-in failed</h1><p>The app sent an invalid request: ${description}.</p>
<p class="note">The app chose where this leads: to <strong>${place}</strong>. Go there only if you have just started the app.</p>
<a class="button" href="${url}">Return to ${place}</a>`,
    ["form-action 'none'"],
  )
}

/** @param policy directives besides those that every page has @param extra headers whose cookies are set */
export async function htmlPage(
  request: Request,
  status: number,
  title: string,
  content: Html,
  policy: readonly string[],
  extra: Headers = new Headers(),
): Promise<Response> {
  const markup = html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>${new Html(style)}</style>
<main>${content}</main>`
  const styleHash = `'sha256-${encodeBase64(await sha256(style))}'`
  const headers = new Headers({
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': [
      "default-src 'none'",
      `style-src ${styleHash}`,
      "base-uri 'none'",
      "frame-ancestors 'none'",
      ...policy,
    ].join('; '),
    'X-Frame-Options': 'DENY',
    'X-Content-Type-Options': 'nosniff',
    // With `no-referrer`, browsers send the forms of the page with the origin `null`.
    'Referrer-Policy': 'same-origin',
    'Cache-Control': 'no-store',
  })
  for (const cookie of extra.getSetCookie()) headers.append('Set-Cookie', cookie)
  return new Response(request.method === 'HEAD' ? null : markup.text, { status, headers })
}

/** Returns a name that a client chose without letters that hide or turn around what follows, and not longer than a line or two. */
export function printable(name: string): string {
  const text = name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '')
  return text.length > maxNameCharacters ? `${text.slice(0, maxNameCharacters)}…` : text
}

/** @param domain of the URL of its metadata document; `undefined` for a registered client */
export const publisherOf = (domain: string | undefined, clientId: string): Html =>
  domain === undefined
    ? html`The app chose this name itself, and it is not verified.`
    : html`The app is published by <strong>${domain}</strong> (<code>${clientId}</code>).`

/** Returns the host that receives access, or a private-use URI, whose host is no domain. */
export const placeOf = (redirectUri: string): string =>
  /^https?:/i.test(redirectUri) ? new URL(redirectUri).hostname : redirectUri

function consentOf({ server, client, handle, providers, descriptions }: Consent): Html {
  const { clientName, clientDomain, clientId, redirectUri, redirectIsLoopback, scope } = client
  const place = placeOf(redirectUri)
  return html`<h1>Allow <strong>${printable(clientName)}</strong> to use ${server} for you?</h1>
<p>${publisherOf(clientDomain, clientId)}</p>
<p class="note">Access is sent to <strong>${place}</strong>${
    (redirectIsLoopback || place === redirectUri) &&
    ', a program on this computer. Allow it only if you have just started it'
  }.</p>
<form method="post">
<input type="hidden" name="handle" value="${handle}">
${
  scope.length > 0 &&
  html`<fieldset><legend>The app may</legend>${scope.map((name) => {
    const description = Object.hasOwn(descriptions, name) && html`${descriptions[name] ?? ''} `
    return html`<label><input type="checkbox" name="scope" value="${name}" checked> ${description}<code>${name}</code></label>`
  })}</fieldset>`
}
${providers.map(({ name, title }) => html`<button class="allow" name="decision" value="${name}">Allow, and sign in with ${title}</button>`)}
<button name="decision" value="deny">Deny</button>
</form>`
}
