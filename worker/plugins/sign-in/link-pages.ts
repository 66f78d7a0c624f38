/**
 * The pages that connect a provider to a signed-in user: `ctx.upstream()` sends users here. Whoever opens such a page signs in with the
 * provider of the account first, so that a link of somebody else connects nothing to the account of that person.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#phishing
 */
import { generateRandomCodeVerifier, generateRandomNonce } from 'oauth4webapi'
import type { OAuthSite } from '../../../durable-objects/rpc.ts'
import type { ServerInfo } from '../../request-hooks.ts'
import type { ObjectOf } from './authorization-server.ts'
import { messagePage } from './consent-page.ts'
import { AccessDenied, type IdentityProvider } from './providers/provider.ts'
import { callbackPath, linkPath, upstreamObjectOf } from './upstream.ts'
import { userIdOf } from './user-id.ts'

/** A visit to a provider that ends on a page of this server, not at a client. */
type Link = {
  /** The provider of the account. */
  readonly primary: string
  /** The provider to connect. */
  readonly upstream: string
  readonly scopes: readonly string[]
  readonly nonce: string
  readonly codeVerifier: string
  /** The browser that started it: the value of its cookie. */
  readonly browser: string
  /** The user of the account, once known. */
  readonly userId?: string
}

/** The services of one request. */
export type LinkServices = { readonly site: OAuthSite; readonly objectOf: ObjectOf }

const cookieName = '__Host-oauth-link'
const purpose = 'sign-in link'

/** Milliseconds that a user has to sign in. */
const lifeMs = 10 * 60_000

export class LinkPages {
  readonly #signIn: readonly IdentityProvider[]
  readonly #all: readonly IdentityProvider[]

  /** @param signIn providers with which users sign in @param all these, and those that are only connected */
  constructor(signIn: readonly IdentityProvider[], all: readonly IdentityProvider[]) {
    this.#signIn = signIn
    this.#all = all
  }

  /** Answers a request for a page; `undefined` for another path, and for a callback of sign-in. */
  answer(request: Request, serverInfo: ServerInfo, services: LinkServices): Promise<Response> | undefined {
    const { pathname, searchParams } = new URL(request.url)
    const start = this.#find(this.#all, pathname, linkPath)
    if (start) return this.#start(request, start, serverInfo, services)
    const returned = this.#find(this.#all, pathname, callbackPath)
    // Sealed texts have a dot, states of sign-in have none.
    const state = searchParams.get('state') ?? ''
    return returned && state.includes('.') ? this.#callback(request, returned, state, serverInfo, services) : undefined
  }

  #find(providers: readonly IdentityProvider[], pathname: string, path: string): IdentityProvider | undefined {
    return pathname.startsWith(path) ? providers.find(({ name }) => name === pathname.slice(path.length)) : undefined
  }

  async #start(request: Request, upstream: IdentityProvider, serverInfo: ServerInfo, services: LinkServices) {
    if (request.method !== 'GET') return new Response(null, { status: 405, headers: { Allow: 'GET' } })
    const { searchParams } = new URL(request.url)
    const primaryName = searchParams.get('with') ?? upstream.name
    const primary = this.#signIn.find(({ name }) => name === primaryName)
    const scopes = (searchParams.get('scope') ?? '').split(' ').filter((scope) => scope !== '')
    const known = upstream.knownScopes
    if (!primary) return messagePage(request, 400, 'Nothing to connect', 'The address of this page is not complete.')
    if (!scopes.every((scope) => known.includes(scope))) {
      return messagePage(request, 400, 'Nothing to connect', 'The address names a scope that this server does not use.')
    }
    const link = { primary: primary.name, upstream: upstream.name, scopes, browser: generateRandomNonce() }
    return this.#visit(primary, link, serverInfo, services)
  }

  /** Sends the user to a provider. */
  async #visit(
    provider: IdentityProvider,
    link: Omit<Link, 'nonce' | 'codeVerifier'>,
    { seals }: ServerInfo,
    { site }: LinkServices,
  ): Promise<Response> {
    const visit = { nonce: generateRandomNonce(), codeVerifier: generateRandomCodeVerifier() }
    const sealed: Link = { ...link, ...visit }
    const state = await seals(undefined).seal(purpose, sealed, lifeMs)
    const redirectUri = `${site.origin}${callbackPath}${provider.name}`
    const isUpstream = provider.name === link.upstream
    const url = await provider.authorizationUrl({
      ...visit,
      state,
      redirectUri,
      ...(isUpstream && { scopes: link.scopes }),
    })
    const cookie = `${cookieName}=${link.browser}; Max-Age=${lifeMs / 1000}; Path=/; Secure; HttpOnly; SameSite=Lax`
    return new Response(null, {
      status: 302,
      headers: { Location: url.href, 'Set-Cookie': cookie, 'Cache-Control': 'no-store' },
    })
  }

  async #callback(
    request: Request,
    provider: IdentityProvider,
    state: string,
    serverInfo: ServerInfo,
    services: LinkServices,
  ): Promise<Response> {
    // What `#visit` sealed.
    const link = (await serverInfo.seals(undefined).open(purpose, state)) as Link | undefined
    const expected = link && (link.userId === undefined ? link.primary : link.upstream)
    if (!link || expected !== provider.name || cookieOf(request) !== link.browser) {
      return messagePage(
        request,
        400,
        'Nothing was connected',
        'The page is too old, or was opened in another browser.',
      )
    }
    // A state works once.
    const isFirst = (await services.objectOf(`link-jti:${link.nonce}`).reserve(`link-jti:${link.nonce}`)) === null
    if (!isFirst) return messagePage(request, 400, 'Nothing was connected', 'This page was opened before.')
    await services
      .objectOf(`link-jti:${link.nonce}`)
      .write(`link-jti:${link.nonce}`, '1', undefined, Date.now() + lifeMs)
    const redirectUri = `${services.site.origin}${callbackPath}${provider.name}`
    try {
      const { user, tokens } = await provider.finish(new URL(request.url), { ...link, state, redirectUri })
      const userId = link.userId ?? (await userIdOf(user, provider))
      if (provider.name !== link.upstream) {
        const upstream = this.#all.find(({ name }) => name === link.upstream)
        // The page checked that there is one.
        if (upstream) return this.#visit(upstream, { ...link, userId }, serverInfo, services)
      }
      const grants = await services.objectOf(`user:${userId}`).list('grant:')
      if (grants.length === 0) {
        return messagePage(request, 403, 'Nothing was connected', 'Sign in to this server in your app first.')
      }
      await services.objectOf(upstreamObjectOf(userId)).keepUpstream(userId, provider.name, tokens, false)
      return messagePage(
        request,
        200,
        `${provider.title} is connected`,
        'You can close this page and go on in your app.',
      )
    } catch (problem) {
      if (problem instanceof AccessDenied) return messagePage(request, 403, 'Nothing was connected', problem.message)
      serverInfo.report(problem)
      return messagePage(request, 502, 'Nothing was connected', `Connecting ${provider.title} failed. Try again later.`)
    }
  }
}

function cookieOf({ headers }: Request): string | undefined {
  const cookies = (headers.get('Cookie') ?? '').split(/; */)
  return cookies.find((cookie) => cookie.startsWith(`${cookieName}=`))?.slice(cookieName.length + 1)
}
