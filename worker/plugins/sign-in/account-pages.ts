/** The page that shows a signed-in person which apps have access and which providers are connected, and lets them end both. */
import type { GrantSummary, OAuthHelpers } from '@cloudflare/workers-oauth-provider'
import type { OAuthSite } from '../../../durable-objects/sign-in/rpc.ts'
import { readBodyText } from '../../protocol/bounded-body.ts'
import { type Html, html } from '../../protocol/html.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import type { ServerInfo } from '../../request-hooks.ts'
import { forgetApprovals } from './approvals.ts'
import { upstreamKeyOf } from './authorization-server.ts'
import { htmlPage, messagePage, placeOf, printable, publisherOf } from './consent-page.ts'
import { readCookie, setCookie } from './cookies.ts'
import { EndedAccess } from './ended-access.ts'
import { beginVisit, type Finished, type VisitPurpose, type VisitServices } from './own-visits.ts'
import type { IdentityProvider } from './providers/provider.ts'
import { providerOfUser } from './upstream.ts'
import { UserGrants } from './user-grants.ts'

/** A visit that signs a person in to this page. */
export type AccountPurpose = VisitPurpose & { readonly page: 'account' }

type AccountServices = VisitServices & { readonly oauth: OAuthHelpers }

/** Path of the page. */
export const accountPath = '/oauth/account'

const cookieName = '__Host-oauth-account'

const sealPurpose = ({ origin }: OAuthSite) => `sign-in account ${origin}`

/** Milliseconds for which a person is signed in to the page. */
const lifeMs = 10 * 60_000

const maxFormBytes = 64 * 1024

export class AccountPages {
  readonly #providers: readonly IdentityProvider[]
  readonly #all: readonly IdentityProvider[]
  readonly #endedMs: number

  /**
   * @param providers with which users sign in
   * @param all these, and those that are only connected
   * @param endedMs milliseconds for which the end of access is remembered
   */
  constructor(providers: readonly IdentityProvider[], all: readonly IdentityProvider[], endedMs: number) {
    this.#providers = providers
    this.#all = all
    this.#endedMs = endedMs
  }

  /** Answers a request for the page; `undefined` for another path. */
  answer(request: Request, serverInfo: ServerInfo, services: AccountServices): Promise<Response> | undefined {
    const { pathname } = new URL(request.url)
    return pathname === accountPath ? this.#answer(request, serverInfo, services) : undefined
  }

  async #answer(request: Request, serverInfo: ServerInfo, services: AccountServices): Promise<Response> {
    const { method } = request
    if (method !== 'GET' && method !== 'POST')
      return new Response(null, { status: 405, headers: { Allow: 'GET, POST' } })
    const userId = await signedInUser(request, serverInfo, services)
    if (method === 'POST') return this.#change(request, userId, services)
    const chosen = new URL(request.url).searchParams.get('with')
    const [only, ...others] = this.#providers
    const provider = others.length === 0 ? only : this.#providers.find(({ name }) => name === chosen)
    // A person who chooses a provider may be signed in to the page with another one.
    if (userId !== undefined && (!chosen || !provider || providerOfUser(userId) === provider.name)) {
      return this.#show(request, userId, serverInfo, services)
    }
    if (!provider) return chooseProvider(request, this.#providers)
    return beginVisit(request, provider, { page: 'account' } satisfies AccountPurpose, serverInfo, services)
  }

  /** Called when the person came back from a provider: signs them in to the page. */
  async finish(
    { userId, startedAt }: Finished<AccountPurpose>,
    { seals }: ServerInfo,
    { site }: VisitServices,
  ): Promise<Response> {
    const session = await seals(undefined).seal(sealPurpose(site), { userId, startedAt }, lifeMs)
    // Strict: no other site can send a form with it.
    const cookie = setCookie(cookieName, session, lifeMs, 'Strict')
    // A page, not a redirect: browsers do not send strict cookies in a navigation that another site started.
    return new Response(`<!doctype html><meta http-equiv="refresh" content="0;url=${accountPath}">`, {
      headers: {
        'Content-Type': 'text/html; charset=utf-8',
        'Set-Cookie': cookie,
        'Cache-Control': 'no-store',
        'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
      },
    })
  }

  async #show(request: Request, userId: string, { server, report }: ServerInfo, { oauth, objectOf }: AccountServices) {
    const { name, title = name } = server.declarations.options
    const listed = await this.#grantsOf({ oauth, objectOf }).list(userId)
    // A client has a grant for each sign-in without a consent page.
    const list = await Promise.all(
      [...Map.groupBy(listed, ({ clientId }) => clientId)].map(async ([clientId, grants]) => {
        // Without the document, which its host may let wait.
        const domain = URL.parse(clientId)?.hostname
        const client = domain === undefined ? await oauth.lookupClient(clientId).catch(report) : undefined
        return describe(clientId, grants, printable(client?.clientName ?? domain ?? clientId), domain)
      }),
    )
    // The provider of the account is connected until no app has access.
    const stored = await objectOf(upstreamKeyOf(userId)).upstreamProviders()
    const connected = stored.filter((one) => one !== providerOfUser(userId))
    const content = html`<h1>Apps with access to ${title}</h1>
${list.length > 0 ? list : html`<p>No app has access.</p>`}
${
  connected.length > 0 &&
  html`<h1>Accounts that ${title} uses for you</h1>
<form method="post">${connected.map(
    (one) => html`<button name="disconnect" value="${one}">Disconnect ${this.#titleOf(one)}</button>`,
  )}</form>`
}`
    return htmlPage(request, 200, `Apps with access to ${title}`, content, ["form-action 'self'"])
  }

  #titleOf(provider: string): string {
    return this.#all.find(({ name }) => name === provider)?.title ?? provider
  }

  /** Ends the access of an app, or disconnects a provider. */
  async #change(request: Request, userId: string | undefined, services: AccountServices): Promise<Response> {
    const { site } = services
    const origin = request.headers.get('Origin')
    const isForeign = origin !== null && origin !== site.origin
    if (userId === undefined || isForeign) {
      return messagePage(request, 403, 'Nothing was changed', 'Open this page again, and sign in.')
    }
    const { text, length } = await readBodyText(request.body, maxFormBytes)
    const form = new URLSearchParams(text)
    const [client, provider] = [form.get('client'), form.get('disconnect')]
    if (length > maxFormBytes || !(client || provider))
      return messagePage(request, 400, 'Nothing was changed', 'The form is not complete.')
    const headers = new Headers({ Location: accountPath, 'Cache-Control': 'no-store' })
    if (provider && provider !== providerOfUser(userId))
      await services.objectOf(upstreamKeyOf(userId)).clearUpstream(userId, provider)
    if (client) await this.#grantsOf(services).endClient(userId, client)
    // The app asks again.
    if (client) headers.append('Set-Cookie', forgetApprovals())
    return new Response(null, { status: 303, headers })
  }

  #grantsOf({ oauth, objectOf }: Pick<AccountServices, 'oauth' | 'objectOf'>): UserGrants {
    return new UserGrants(oauth, objectOf, this.#endedMs)
  }
}

/** Returns who is signed in to the page; `undefined` for nobody. */
async function signedInUser(
  request: Request,
  { seals }: ServerInfo,
  { site, objectOf }: VisitServices,
): Promise<string | undefined> {
  const session = readCookie(request, cookieName)
  const opened = session === undefined ? undefined : await seals(undefined).open(sealPurpose(site), session)
  if (!isObject(opened) || typeof opened.userId !== 'string') return undefined
  const endedAt = await EndedAccess.ofAllClients(objectOf, opened.userId).time()
  return Number(opened.startedAt) > endedAt ? opened.userId : undefined
}

const chooseProvider = (request: Request, providers: readonly IdentityProvider[]): Promise<Response> =>
  htmlPage(
    request,
    200,
    'Sign in',
    html`<h1>Sign in</h1>
<form>${providers.map(({ name, title }) => html`<button name="with" value="${name}">Sign in with ${title}</button>`)}</form>`,
    // The form leads to the provider.
    ['form-action *'],
  )

/** @param grants of one client, the oldest first @param domain of the URL of its metadata document */
function describe(clientId: string, grants: readonly GrantSummary[], name: string, domain: string | undefined): Html {
  const since = new Date(Number(grants[0]?.createdAt) * 1000).toISOString().slice(0, 10)
  const scopes = [...new Set(grants.flatMap(({ scope }) => scope))]
  const places = new Set(grants.flatMap(({ redirectUri }) => (redirectUri === undefined ? [] : placeOf(redirectUri))))
  return html`<fieldset><legend>${name}</legend>
<p>${publisherOf(domain, clientId)} Access was sent to <strong>${[...places].join(', ')}</strong>.</p>
<p>Since ${since}${scopes.length > 0 && html`, with ${scopes.map((one) => html`<code>${one}</code> `)}`}</p>
<form method="post"><button name="client" value="${clientId}">End access</button></form></fieldset>`
}
