/**
 * The pages of sign-in: the authorization page of this server, and the callback to which the identity provider sends the user.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-4.1
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/security_best_practices#confused-deputy-problem
 */
import {
  AuthorizationError,
  type AuthRequest,
  authorizationErrorRedirect,
  CimdFetchError,
  type OAuthHelpers,
} from '@cloudflare/workers-oauth-provider'
import { generateRandomCodeVerifier, generateRandomNonce } from 'oauth4webapi'
import type { OAuthSite } from '../../../durable-objects/sign-in/rpc.ts'
import { readBodyText } from '../../protocol/bounded-body.ts'
import type { ServerInfo } from '../../request-hooks.ts'
import { Approvals } from './approvals.ts'
import { asDescription, canonicalParams, type ObjectOf, paths } from './authorization-server.ts'
import { consentPage, messagePage, problemPage, returnPage, tenantPage } from './consent-page.ts'
import { deleteOldest } from './cookies.ts'
import { type DecidingOptions, decide, type GrantProps } from './decide.ts'
import { consentUrl, EndedAccess } from './ended-access.ts'
import { AccessDenied, type IdentityProvider, type UpstreamTokens, type User } from './providers/provider.ts'
import { storeTokens } from './store-tokens.ts'
import { callbackPath, tokensName } from './upstream.ts'
import { userIdOf, userOf } from './user.ts'

/** What the pages need of the options of `signIn()`. */
export type PageOptions = DecidingOptions & {
  readonly providers: readonly IdentityProvider[]
  readonly rememberSeconds: number
  /** Descriptions of scopes, for users. */
  readonly descriptions: Readonly<Record<string, string>>
  readonly privateUseRedirectUris: readonly string[]
}

/** The services of one request. */
export type PageServices = {
  readonly site: OAuthSite
  readonly oauth: OAuthHelpers
  readonly objectOf: ObjectOf
}

/** A user who came back from a provider. */
type SignedIn = Pick<VisitData, 'approvedAt' | 'startedAt'> & {
  readonly user: User
  readonly tokens: UpstreamTokens
  /** When the provider was asked who the user is, in milliseconds since 1970. */
  readonly askedAt: number
}

/** A request whose page is shown. The library stores it as it is, encrypted with the handle of the page. */
type ShownRequest = AuthRequest & {
  /** The scopes of the consent page. */
  readonly offered?: readonly string[]
  /** The user of the page that asks for the tenant. */
  readonly signedIn?: SignedIn
}

/** What is stored during a visit to a provider, encrypted with the state. */
type VisitData = {
  readonly provider: string
  readonly nonce: string
  readonly codeVerifier: string
  /** When this server sent the user to the provider, in milliseconds since 1970. */
  readonly startedAt: number
  /** When the user approved the client on the consent page, in milliseconds since 1970; `undefined`: the browser remembered an approval. */
  readonly approvedAt?: number | undefined
}

/** Scopes of OpenID Connect, which give no access to this server. Hosts request them when they know no others. */
const openIdScopes: ReadonlySet<string> = new Set(['openid', 'profile', 'email', 'address', 'phone', 'offline_access'])

/** What the library says of a client that it does not know. */
const unknownClient = /^Invalid client_id$/
const unknownClientAdvice =
  'Your app is not registered at this server, or its registration has expired. Remove this server in the app and add it again.'

/** Milliseconds for which an answer of the provider is used: the user chooses a tenant meanwhile, and may leave an organization. */
const freshMs = 120_000

/** Cookies of the library: one for each consent page, and one for each visit to a provider. */
const cookiePrefixes = ['__Host-oauth-consent-', '__Host-oauth-upstream-']
/** Cookies of each kind in a browser. A site that opens the page more often makes no request too large. */
const maxCookies = 20

/** Bytes of the form of the consent page. */
const maxFormBytes = 64 * 1024

export class AuthorizePages {
  readonly #options: PageOptions

  constructor(options: PageOptions) {
    this.#options = options
  }

  /** Answers a request for a page; `undefined` for another path. */
  answer(request: Request, serverInfo: ServerInfo, services: PageServices): Promise<Response> | undefined {
    const { pathname } = new URL(request.url)
    if (pathname === paths.authorize)
      return this.#reporting(request, serverInfo, services, () => this.#authorize(request, serverInfo, services))
    if (!pathname.startsWith(callbackPath)) return undefined
    const provider = this.#provider(pathname.slice(callbackPath.length))
    return (
      provider &&
      this.#reporting(request, serverInfo, services, () => this.#callback(request, provider, serverInfo, services))
    )
  }

  /** Shows a page for what the library and the pages throw. */
  async #reporting(
    request: Request,
    { report, seals }: ServerInfo,
    { site }: PageServices,
    answer: () => Promise<Response>,
  ): Promise<Response> {
    try {
      const response = await answer()
      for (const prefix of cookiePrefixes)
        for (const cookie of deleteOldest(request, prefix, maxCookies)) response.headers.append('Set-Cookie', cookie)
      return response
    } catch (problem) {
      if (problem instanceof AuthorizationError) {
        if (problem.redirectTo) return returnToClient(request, problem, await this.#approvals(request, seals, site))
        if (unknownClient.test(problem.description ?? ''))
          return messagePage(request, 400, 'Sign-in failed', unknownClientAdvice)
        return problemPage(request, 400, `${problem.description}.`)
      }
      if (problem instanceof CimdFetchError) return problemPage(request, 400, 'This server cannot verify the app.')
      report(problem)
      return problemPage(request, 500, 'This server has a problem.')
    }
  }

  async #authorize(request: Request, serverInfo: ServerInfo, services: PageServices): Promise<Response> {
    if (request.method === 'POST') return this.#decide(request, serverInfo, services)
    if (request.method !== 'GET') return new Response(null, { status: 405, headers: { Allow: 'GET, POST' } })
    const { oauth, site } = services
    const url = new URL(request.url)
    const params = canonicalParams(url.search, site)
    url.search = String(params)
    const redirectUri = params.get('redirect_uri') ?? ''
    if (!/^https?:/i.test(redirectUri) && !this.#options.privateUseRedirectUris.includes(redirectUri)) {
      return problemPage(request, 400, 'Invalid redirect URI.')
    }
    const parsed = await oauth.parseAuthRequest(new Request(url, request))
    // The library requires it of public clients only. OAuth 2.1, section 4.1.1, does of all.
    if (!parsed.codeChallenge) throw requestError(parsed, 'invalid_request', 'PKCE code_challenge is required')
    const wanted = parsed.scope.filter((name) => site.scopes.includes(name) || !openIdScopes.has(name))
    const known = wanted.filter((name) => site.scopes.includes(name))
    if (wanted.length > 0 && known.length === 0 && site.scopes.length > 0) {
      throw requestError(parsed, 'invalid_scope', 'This server has none of the scopes')
    }
    // RFC 6749, section 3.3: a client that names no scope gets a default. The user takes away what it needs not have.
    const authorization = { ...parsed, scope: wanted.length > 0 ? known : [...site.scopes] }
    const { providers, rememberSeconds, descriptions } = this.#options
    const [only, ...others] = providers
    const isAsked = params.get('prompt')?.split(' ').includes('consent')
    if (only && others.length === 0 && rememberSeconds > 0 && !isAsked) {
      const approvals = await this.#approvals(request, serverInfo.seals, site)
      if ((await approvals.timeOf(authorization)) > 0) return this.#visit(authorization, only, serverInfo, services)
    }
    const client = await oauth.describeConsent(authorization)
    const shown: ShownRequest = { ...authorization, offered: authorization.scope }
    const { handle, headers } = await oauth.beginConsent(shown)
    const { name, title = name } = serverInfo.server.declarations.options
    return consentPage(request, { server: title, client, handle, providers, descriptions }, headers)
  }

  /** Carries out the decision of the consent page. */
  async #decide(request: Request, serverInfo: ServerInfo, services: PageServices): Promise<Response> {
    const { oauth, site } = services
    const { text, length } = await readBodyText(request.body, maxFormBytes)
    if (length > maxFormBytes) return problemPage(request, 413, 'The form is too large.')
    const form = new URLSearchParams(text)
    const handle = form.get('handle') ?? ''
    const decision = form.get('decision') ?? ''
    const tenant = form.get('tenant')
    if (tenant !== null) return this.#chooseTenant(request, handle, tenant, serverInfo, services)
    const provider = this.#provider(decision)
    if (!provider && decision !== 'deny') return problemPage(request, 400, 'The form has no decision.')
    if (!provider) {
      const { headers } = await oauth.denyConsent(request, handle)
      return new Response(null, { status: 302, headers })
    }
    const scope = [...new Set(form.getAll('scope'))]
    const approved = await oauth.approveConsent(request, handle, {
      scope: scope.filter((name) => site.scopes.includes(name)),
    })
    const { offered = [], signedIn: _, ...authorization }: ShownRequest = approved.request
    const isOffered = new Set(offered)
    if (!scope.every((name) => isOffered.has(name))) {
      return problemPage(request, 400, 'The form has a scope that the page did not offer.')
    }
    return this.#visit(authorization, provider, serverInfo, services, approved.headers)
  }

  /** Sends the user to a provider. */
  async #visit(
    authorization: AuthRequest,
    provider: IdentityProvider,
    { report }: ServerInfo,
    { oauth, site }: PageServices,
    approved?: Headers,
  ): Promise<Response> {
    const data: VisitData = {
      provider: provider.name,
      nonce: generateRandomNonce(),
      codeVerifier: generateRandomCodeVerifier(),
      startedAt: Date.now(),
      ...(approved && { approvedAt: Date.now() }),
    }
    const { state, headers } = await oauth.beginUpstream(authorization, {
      data,
      ...(approved && { headers: approved }),
    })
    const location = await provider
      .authorizationUrl({ ...data, state, redirectUri: redirectUriOf(site, provider) })
      .then(
        ({ href }) => href,
        (problem) => errorUrl(authorization, provider, problem, report),
      )
    headers.set('Location', location)
    return new Response(null, { status: 302, headers })
  }

  /** Answers the callback of a provider: asks who the user is, and creates a grant. */
  async #callback(
    request: Request,
    provider: IdentityProvider,
    serverInfo: ServerInfo,
    services: PageServices,
  ): Promise<Response> {
    if (request.method !== 'GET') return new Response(null, { status: 405, headers: { Allow: 'GET' } })
    const { oauth, site } = services
    const { request: authorization, data, headers } = await oauth.finishUpstream<VisitData>(request)
    // The answer of another provider: RFC 9700, section 4.4.
    if (data.provider !== provider.name) return problemPage(request, 400, 'The answer is of another provider.', headers)
    const state = new URL(request.url).searchParams.get('state') ?? ''
    return answering(authorization, provider, headers, serverInfo, async () => {
      const visit = { ...data, state, redirectUri: redirectUriOf(site, provider) }
      const askedAt = Date.now()
      const { user: profile, tokens } = await provider.finish(new URL(request.url), visit)
      const { approvedAt, startedAt } = data
      const signedIn = { user: userOf(profile, provider), tokens, approvedAt, startedAt, askedAt }
      return this.#finish(request, authorization, signedIn, provider, undefined, headers, serverInfo, services)
    })
  }

  /** Carries out the choice of the page that asks for the tenant. */
  async #chooseTenant(
    request: Request,
    handle: string,
    tenant: string,
    serverInfo: ServerInfo,
    services: PageServices,
  ): Promise<Response> {
    const { request: shown, headers } = await services.oauth.approveConsent(request, handle)
    const { signedIn, ...authorization }: ShownRequest = shown
    const provider = signedIn && this.#provider(signedIn.user.provider)
    if (!provider) return problemPage(request, 400, 'The form is of another page.', headers)
    return answering(authorization, provider, headers, serverInfo, () =>
      this.#finish(request, authorization, signedIn, provider, tenant, headers, serverInfo, services),
    )
  }

  /**
   * Creates a grant.
   *
   * @param chosen the tenant that the user has chosen
   * @param headers gets the cookies of the response
   * @returns the URL that tells the client, the URL of the consent page, or the page that asks for the tenant
   */
  async #finish(
    request: Request,
    authorization: AuthRequest,
    signedIn: SignedIn,
    provider: IdentityProvider,
    chosen: string | undefined,
    headers: Headers,
    { seals }: ServerInfo,
    { oauth, objectOf, site }: PageServices,
  ): Promise<string | Response> {
    const { user, tokens, approvedAt, startedAt, askedAt } = signedIn
    const decidingAt = Date.now()
    const decision = await decide(this.#options, user, authorization.scope, chosen)
    const userId = await userIdOf(user)
    const approvals = await this.#approvals(request, seals, site)
    const approved =
      approvedAt ?? (await approvals.timeOf(authorization, userId, decision.choices ? undefined : decision))
    const ofAnyClient = EndedAccess.ofAnyClient(objectOf, userId)
    const ofClient = new EndedAccess(objectOf, userId, authorization.clientId)
    const ofAllClients = EndedAccess.ofAllClients(objectOf, userId)
    const times = [ofAnyClient.time(), ofClient.time(), ofAllClients.time()] as const
    const [endedAt, ...approvalEndedAt] = await Promise.all(times)
    // Not asked again: a function that decides may have ended it, and would do so each time.
    if (endedAt > decidingAt) throw new AccessDenied('Your access was ended while you signed in. Sign in again.')
    const isStale = startedAt <= endedAt || askedAt + freshMs < decidingAt
    // Another user of the browser has approved the app, or this one has ended its access since.
    if (isStale || approved <= Math.max(...approvalEndedAt)) {
      return consentUrl(site.origin, authorization).href
    }
    if (decision.choices) {
      const shown: ShownRequest = { ...authorization, signedIn }
      const { handle, headers: cookies } = await oauth.beginConsent(shown)
      for (const cookie of cookies.getSetCookie()) headers.append('Set-Cookie', cookie)
      const client = await oauth.describeConsent(shown)
      return tenantPage(request, { client, handle, tenants: decision.choices }, headers)
    }
    const { tenant, scopes } = decision
    const props: GrantProps = { user, tenant, startedAt }
    const { redirectTo } = await oauth.completeAuthorization({
      request: authorization,
      userId,
      metadata: { provider: provider.name, tenant },
      scope: [...scopes],
      props,
      // The id of a registered client is that of one installation; all installations of an app share the URL of its metadata document.
      // Without a consent page, only the code of the client will prove that the client has asked.
      revokeExistingGrants: approvedAt !== undefined && !URL.canParse(authorization.clientId),
    })
    // The client may let its metadata document wait, and the user may end access meanwhile. The code has not left this server.
    if (startedAt <= (await ofAnyClient.time())) {
      await oauth.revokeGrant(grantIn(redirectTo), userId)
      return consentUrl(site.origin, authorization).href
    }
    const kept = { ...tokens, account: user.id, askedAt }
    const of = tokensName(provider, userId, tenant)
    await storeTokens(objectOf, site, userId, of, kept, provider.signInScopes, true)
    const rememberMs = this.#options.rememberSeconds * 1000
    if (approvedAt !== undefined && rememberMs > 0) {
      headers.append('Set-Cookie', await approvals.cookieWith(authorization, userId, tenant, approvedAt, rememberMs))
    }
    return redirectTo
  }

  #approvals(request: Request, seals: ServerInfo['seals'], site: PageServices['site']): Promise<Approvals> {
    return Approvals.read(request, seals(undefined), site, this.#options.rememberSeconds * 1000)
  }

  #provider(name: string): IdentityProvider | undefined {
    return this.#options.providers.find((provider) => provider.name === name)
  }
}

/** Answers with a page, or sends the browser to the URL that the work returns, or to the client with the reason why the work failed. */
async function answering(
  authorization: AuthRequest,
  provider: IdentityProvider,
  headers: Headers,
  { report }: ServerInfo,
  work: () => Promise<string | Response>,
): Promise<Response> {
  const answer = await work().catch((problem) => errorUrl(authorization, provider, problem, report))
  if (typeof answer !== 'string') return answer
  headers.set('Location', answer)
  return new Response(null, { status: 302, headers })
}

/** Returns the id of the grant of a code, which is `<user>:<grant>:<secret>`. */
const grantIn = (redirectTo: string): string => new URL(redirectTo).searchParams.get('code')?.split(':')[1] ?? ''

/** Returns an error of a request, which the client learns. */
const requestError = (request: AuthRequest, code: 'invalid_request' | 'invalid_scope', description: string) =>
  new AuthorizationError(code, {
    description,
    redirectUri: request.redirectUri,
    state: request.state,
    ...(request.issuer !== undefined && { issuer: request.issuer }),
  })

/**
 * Tells a client what is wrong with its request. Whoever registers a client chooses where it leads, so the user decides, unless a user of this
 * browser has approved the client before.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9700#section-4.11.2
 */
async function returnToClient(request: Request, problem: AuthorizationError, approvals: Approvals): Promise<Response> {
  const { redirectTo = '', redirectUri = '', description } = problem
  const clientId = new URL(request.url).searchParams.get('client_id') ?? ''
  if (!(await approvals.know({ clientId, redirectUri }))) return returnPage(request, description, redirectTo)
  return new Response(null, { status: 302, headers: { Location: redirectTo, 'Cache-Control': 'no-store' } })
}

const redirectUriOf = ({ origin }: OAuthSite, { name }: IdentityProvider): string => `${origin}${callbackPath}${name}`

/** Returns the URL that tells a client why its user is not signed in. */
function errorUrl(
  authorization: AuthRequest,
  { title }: IdentityProvider,
  problem: unknown,
  report: ServerInfo['report'],
): string {
  if (problem instanceof AccessDenied) {
    return authorizationErrorRedirect(authorization, 'access_denied', asDescription(problem.message))
  }
  report(problem)
  return authorizationErrorRedirect(authorization, 'server_error', asDescription(`Signing in with ${title} failed`))
}
