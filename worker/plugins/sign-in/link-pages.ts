/**
 * The pages that connect a provider to a signed-in user: `ctx.upstream()` sends users here. Whoever opens such a page signs in with the
 * provider of the account first, so that a link of somebody else connects nothing to the account of that person.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#phishing
 */
import { generateRandomNonce } from 'oauth4webapi'
import { readBodyText } from '../../protocol/bounded-body.ts'
import { html } from '../../protocol/html.ts'
import type { ServerInfo } from '../../request-hooks.ts'
import { htmlPage, messagePage, printable } from './consent-page.ts'
import { readCookie, setCookie } from './cookies.ts'
import { EndedAccess } from './ended-access.ts'
import { beginVisit, type Finished, type VisitPurpose, type VisitServices } from './own-visits.ts'
import type { IdentityProvider, User } from './providers/provider.ts'
import { hasGrants, storeTokens } from './store-tokens.ts'
import { linkPath, providerOfUser, statesTenantOf, tokensName } from './upstream.ts'

/** The provider to connect, and the user once they are known. */
export type LinkPurpose = VisitPurpose & {
  readonly page: 'link'
  readonly upstream: string
  readonly upstreamScopes: readonly string[]
  /** The tenant for which a provider that states tenants is connected. */
  readonly tenant?: string | undefined
  readonly userId?: string
  /** The account with which the user signed in, for people, such as `GitHub as ada`. */
  readonly account?: string
}

/** A random text that the form of the page repeats, so that no other site can send it. */
const cookieName = '__Host-oauth-link'

/** Milliseconds for which the page can be used. */
const lifeMs = 10 * 60_000

const maxFormBytes = 4096

export class LinkPages {
  readonly #signIn: readonly IdentityProvider[]
  readonly #all: readonly IdentityProvider[]
  readonly #tenantsOf: (user: User) => Promise<readonly string[]>

  /**
   * @param signIn providers with which users sign in
   * @param all these, and those that are only connected
   * @param tenantsOf returns the tenants that a user may act for
   */
  constructor(
    signIn: readonly IdentityProvider[],
    all: readonly IdentityProvider[],
    tenantsOf: (user: User) => Promise<readonly string[]>,
  ) {
    this.#signIn = signIn
    this.#all = all
    this.#tenantsOf = tenantsOf
  }

  /** Answers a request for a page; `undefined` for another path. */
  answer(request: Request, serverInfo: ServerInfo, services: VisitServices): Promise<Response> | undefined {
    const { pathname } = new URL(request.url)
    if (!pathname.startsWith(linkPath)) return undefined
    const upstream = this.#all.find(({ name }) => name === pathname.slice(linkPath.length))
    return upstream && this.#start(request, upstream, serverInfo, services)
  }

  async #start(
    request: Request,
    upstream: IdentityProvider,
    serverInfo: ServerInfo,
    services: VisitServices,
  ): Promise<Response> {
    const { method } = request
    if (method !== 'GET' && method !== 'POST')
      return new Response(null, { status: 405, headers: { Allow: 'GET, POST' } })
    const { searchParams } = new URL(request.url)
    const account = searchParams.get('with') ?? upstream.name
    const primary = this.#signIn.find(({ name }) => name === account)
    const named = new Set((searchParams.get('scope') ?? '').split(' '))
    const scopes = [...named].filter((scope) => scope !== '')
    const known = new Set(upstream.knownScopes)
    if (!primary) return messagePage(request, 400, 'Nothing to connect', 'The address of this page is not complete.')
    if (!scopes.every((scope) => known.has(scope))) {
      return messagePage(request, 400, 'Nothing to connect', 'The address names a scope that this server does not use.')
    }
    if (method === 'GET') return askToConnect(request, upstream, scopes, serverInfo)
    if (!(await isOwnForm(request))) {
      return messagePage(request, 403, 'Nothing was connected', 'Open this page again, and press its button.')
    }
    const tenant = searchParams.get('tenant') ?? undefined
    const purpose: LinkPurpose = { page: 'link', upstream: upstream.name, upstreamScopes: scopes, tenant }
    return this.#visit(request, primary, purpose, serverInfo, services)
  }

  /** Called when the user came back from a provider. */
  async finish(
    request: Request,
    { purpose, user, userId: visitor, tokens, startedAt }: Finished<LinkPurpose>,
    provider: IdentityProvider,
    serverInfo: ServerInfo,
    services: VisitServices,
  ): Promise<Response> {
    const userId = purpose.userId ?? visitor
    const upstream = this.#all.find(({ name }) => name === purpose.upstream)
    const account = `${provider.title} as ${printable(user.login ?? user.email ?? user.name ?? user.id)}`
    if (upstream && upstream !== provider)
      return this.#visit(request, upstream, { ...purpose, userId, account }, serverInfo, services, startedAt)
    const { objectOf, site } = services
    const accounts = [purpose.account ?? [], account].flat().join(' and to ')
    const primary = this.#signIn.find(({ name }) => name === providerOfUser(userId)) ?? provider
    const withoutGrants = () =>
      messagePage(
        request,
        403,
        'Nothing was connected',
        `You signed in to ${accounts}, and no app has access to this server with this account. If your app uses another account, sign out of ${primary.title}, and open the link of the app again. Otherwise sign in to this server in your app first.`,
      )
    const endedAt = await EndedAccess.ofAllClients(objectOf, userId).time()
    if (startedAt <= endedAt || !(await hasGrants(objectOf, userId))) return withoutGrants()
    const { tenant } = purpose
    if (statesTenantOf(provider, userId) && !(await this.#isOf(tenant, user))) {
      return messagePage(
        request,
        403,
        'Nothing was connected',
        `You are signed in to ${provider.title} for another organization than in your app. Change it there, and open this page again.`,
      )
    }
    const requested = [...provider.signInScopes, ...purpose.upstreamScopes]
    const kept = { ...tokens, account: user.id }
    const of = tokensName(provider, userId, tenant)
    if (!(await storeTokens(objectOf, site, userId, of, kept, requested, false))) return withoutGrants()
    return messagePage(
      request,
      200,
      `${provider.title} is connected`,
      `You signed in to ${accounts}. You can close this page and go on in your app. If the app asks again, it uses another account: sign out of ${primary.title}, and open the link of the app again.`,
    )
  }

  /** Whether a user may act for the tenant of an app, or for none as the app does. */
  async #isOf(tenant: string | undefined, user: User): Promise<boolean> {
    const tenants = await this.#tenantsOf(user)
    return tenant === undefined ? tenants.length === 0 : tenants.includes(tenant)
  }

  /** Sends the user to a provider, with the scopes to connect if it is the one to connect. */
  #visit(
    request: Request,
    provider: IdentityProvider,
    purpose: LinkPurpose,
    serverInfo: ServerInfo,
    services: VisitServices,
    startedAt?: number,
  ) {
    const scopes = provider.name === purpose.upstream ? purpose.upstreamScopes : []
    return beginVisit(request, provider, { ...purpose, scopes }, serverInfo, services, startedAt)
  }
}

/** Shows what is connected, with the button that does it. */
async function askToConnect(
  request: Request,
  { title: provider }: IdentityProvider,
  scopes: readonly string[],
  { server }: ServerInfo,
): Promise<Response> {
  const { name, title = name } = server.declarations.options
  const token = readCookie(request, cookieName) ?? generateRandomNonce()
  const content = html`<h1>Connect ${provider} to ${title}?</h1>
<p>${title} uses your account at ${provider} when you call its tools${
    scopes.length > 0 && html`, with ${scopes.map((scope) => html`<code>${scope}</code> `)}`
  }. You can disconnect it later.</p>
<form method="post"><input type="hidden" name="token" value="${token}"><button class="allow">Connect ${provider}</button></form>`
  const headers = new Headers({ 'Set-Cookie': setCookie(cookieName, token, lifeMs, 'Strict') })
  // The form leads to the provider.
  return htmlPage(request, 200, `Connect ${provider}`, content, ['form-action *'], headers)
}

/** Whether a request is a form that this browser got from the page. */
async function isOwnForm(request: Request): Promise<boolean> {
  const { text, length } = await readBodyText(request.body, maxFormBytes)
  const token = new URLSearchParams(text).get('token')
  return length <= maxFormBytes && token !== null && token !== '' && token === readCookie(request, cookieName)
}
