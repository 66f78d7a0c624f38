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
import type { OAuthSite } from '../../../durable-objects/rpc.ts'
import { readBodyText } from '../../protocol/bounded-body.ts'
import { isStrings } from '../../protocol/check-principal.ts'
import type { ServerInfo } from '../../request-hooks.ts'
import { type GrantProps, type ObjectOf, paths, upstreamKeyOf, withCanonicalResource } from './authorization-server.ts'
import { consentPage, messagePage, problemPage } from './consent-page.ts'
import { forgetApprovals } from './cookies.ts'
import { authorizeUrl, EndedAccess } from './ended-access.ts'
import { AccessDenied, type IdentityProvider, type User } from './providers/provider.ts'
import { callbackPath } from './upstream.ts'
import { userIdOf } from './user-id.ts'

/** What the pages need of the options of `signIn()`. */
export type PageOptions = {
  readonly providers: readonly IdentityProvider[]
  readonly rememberSeconds: number
  readonly privateUseRedirectUris: readonly string[]
  allow?(user: User, provider: string): boolean | string | Promise<boolean | string>
  grantScopes?(user: User, approved: readonly string[]): readonly string[] | Promise<readonly string[]>
}

/** The services of one request. */
export type PageServices = {
  readonly site: OAuthSite
  readonly oauth: OAuthHelpers
  readonly objectOf: ObjectOf
  /** Returns the key that signs remembered approvals. */
  secret(): Promise<string>
}

/** A request whose consent page is shown. The library stores it as it is. */
type ShownRequest = AuthRequest & { readonly offered?: readonly string[] }

/** What is stored during a visit to a provider, encrypted with the state. */
type VisitData = {
  readonly provider: string
  readonly nonce: string
  readonly codeVerifier: string
  /** Whether the browser remembered the approval. */
  readonly isRemembered?: boolean
}

/** Scopes of OpenID Connect, which give no access to this server. Hosts request them when they know no others. */
const openIdScopes: ReadonlySet<string> = new Set(['openid', 'profile', 'email', 'address', 'phone', 'offline_access'])

/** What the library says of a client that it does not know. */
const unknownClient = /^Invalid client_id$/
const unknownClientAdvice =
  'Your app is not registered at this server, or its registration has expired. Remove this server in the app and add it again.'

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
      return this.#reporting(request, serverInfo, () => this.#authorize(request, serverInfo, services))
    if (!pathname.startsWith(callbackPath)) return undefined
    const provider = this.#provider(pathname.slice(callbackPath.length))
    return (
      provider && this.#reporting(request, serverInfo, () => this.#callback(request, provider, serverInfo, services))
    )
  }

  /** Shows a page for what the library and the pages throw. */
  async #reporting(request: Request, { report }: ServerInfo, answer: () => Promise<Response>): Promise<Response> {
    try {
      return await answer()
    } catch (problem) {
      if (problem instanceof AuthorizationError) {
        if (problem.redirectTo) return redirect(problem.redirectTo)
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
    withCanonicalResource(url.searchParams, site)
    const redirectUri = url.searchParams.get('redirect_uri') ?? ''
    if (!/^https?:/i.test(redirectUri) && !this.#options.privateUseRedirectUris.includes(redirectUri)) {
      return problemPage(request, 400, 'Invalid redirect URI.')
    }
    const parsed = await oauth.parseAuthRequest(new Request(url, request))
    const wanted = parsed.scope.filter((name) => site.scopes.includes(name) || !openIdScopes.has(name))
    const known = wanted.filter((name) => site.scopes.includes(name))
    if (wanted.length > 0 && known.length === 0 && site.scopes.length > 0) {
      return redirect(authorizationErrorRedirect(parsed, 'invalid_scope', 'This server has none of the scopes'))
    }
    // RFC 6749, section 3.3: a client that names no scope gets a default. The user takes away what it needs not have.
    const authorization = { ...parsed, scope: wanted.length > 0 ? known : [...site.scopes] }
    const { providers, rememberSeconds } = this.#options
    const [only, ...others] = providers
    if (only && others.length === 0 && rememberSeconds > 0) {
      const remembered = await oauth.isConsentRemembered(request, authorization, { secret: await services.secret() })
      if (remembered) return this.#visit(authorization, only, serverInfo, services)
    }
    const client = await oauth.describeConsent(authorization)
    const shown: ShownRequest = { ...authorization, offered: authorization.scope }
    const { handle, headers } = await oauth.beginConsent(shown)
    const { name, title = name } = serverInfo.server.declarations.options
    return consentPage(request, { server: title, client, handle, providers }, headers)
  }

  /** Carries out the decision of the consent page. */
  async #decide(request: Request, serverInfo: ServerInfo, services: PageServices): Promise<Response> {
    const { oauth, site } = services
    const { text, length } = await readBodyText(request.body, maxFormBytes)
    if (length > maxFormBytes) return problemPage(request, 413, 'The form is too large.')
    const form = new URLSearchParams(text)
    const handle = form.get('handle') ?? ''
    const decision = form.get('decision') ?? ''
    const provider = this.#provider(decision)
    if (!provider && decision !== 'deny') return problemPage(request, 400, 'The form has no decision.')
    if (!provider) {
      const { headers } = await oauth.denyConsent(request, handle)
      return new Response(null, { status: 302, headers })
    }
    const { rememberSeconds } = this.#options
    const scope = form.getAll('scope')
    const approved = await oauth.approveConsent(request, handle, {
      scope: scope.filter((name) => site.scopes.includes(name)),
      ...(rememberSeconds > 0 && { remember: { secret: await services.secret(), maxAgeSeconds: rememberSeconds } }),
    })
    const { offered = [], ...authorization }: ShownRequest = approved.request
    if (!scope.every((name) => offered.includes(name))) {
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
      ...(!approved && { isRemembered: true }),
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
    { report }: ServerInfo,
    { oauth, site, objectOf }: PageServices,
  ): Promise<Response> {
    if (request.method !== 'GET') return new Response(null, { status: 405, headers: { Allow: 'GET' } })
    const { request: authorization, data, headers } = await oauth.finishUpstream<VisitData>(request)
    // The answer of another provider: RFC 9700, section 4.4.
    if (data.provider !== provider.name) return problemPage(request, 400, 'The answer is of another provider.', headers)
    const state = new URL(request.url).searchParams.get('state') ?? ''
    try {
      const visit = { ...data, state, redirectUri: redirectUriOf(site, provider) }
      const { user, tokens } = await provider.finish(new URL(request.url), visit)
      await this.#checkAllowed(user, provider)
      const approved = authorization.scope
      const granted = await scopesFor(this.#options, user, approved)
      const userId = await userIdOf(user, provider)
      const ended = new EndedAccess(objectOf, userId, authorization.clientId)
      if (data.isRemembered && (await ended.exists())) {
        headers.append('Set-Cookie', forgetApprovals())
        headers.set('Location', authorizeUrl(site.origin, authorization).href)
        return new Response(null, { status: 302, headers })
      }
      const props: GrantProps = { user, provider: provider.name }
      const { redirectTo } = await oauth.completeAuthorization({
        request: authorization,
        userId,
        metadata: { provider: provider.name },
        scope: granted.filter((scope) => approved.includes(scope)),
        props,
        // The id of a registered client is that of one installation; all installations of an app share the URL of its metadata document.
        revokeExistingGrants: !URL.canParse(authorization.clientId),
      })
      await objectOf(upstreamKeyOf(userId)).keepUpstream(
        userId,
        provider.name,
        { ...tokens, account: user.id, clientId: provider.clientId },
        provider.signInScopes,
        true,
      )
      if (!data.isRemembered && this.#options.rememberSeconds > 0) await ended.delete()
      headers.set('Location', redirectTo)
    } catch (problem) {
      headers.set('Location', errorUrl(authorization, provider, problem, report))
    }
    return new Response(null, { status: 302, headers })
  }

  /** @throws AccessDenied */
  async #checkAllowed(user: User, provider: IdentityProvider): Promise<void> {
    const { allow } = this.#options
    // What `allow` does not decide is refused.
    const allowed = allow ? await allow(user, provider.name) : true
    if (allowed === true) return
    throw new AccessDenied(typeof allowed === 'string' ? allowed : 'You do not have access to this server.')
  }

  #provider(name: string): IdentityProvider | undefined {
    return this.#options.providers.find((provider) => provider.name === name)
  }
}

/** Returns the scopes that a user grants. @throws Error for another value than a list of scopes */
export async function scopesFor(
  { grantScopes }: Pick<PageOptions, 'grantScopes'>,
  user: User,
  approved: readonly string[],
): Promise<readonly string[]> {
  const granted = grantScopes ? await grantScopes(user, approved) : approved
  if (isStrings(granted)) return granted
  throw new Error('grantScopes of signIn() must return a list of scopes')
}

const redirect = (url: string) =>
  new Response(null, { status: 302, headers: { Location: url, 'Cache-Control': 'no-store' } })

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

/** Characters that `error_description` must not have: RFC 6749, section 4.1.2.1. */
const asDescription = (text: string): string => text.replace(/[^ !#-[\]-~]/g, "'")
