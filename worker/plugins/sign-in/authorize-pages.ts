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
import type { ServerInfo } from '../../request-hooks.ts'
import { type GrantProps, type ObjectOf, paths } from './authorization-server.ts'
import { consentPage, problemPage } from './consent-page.ts'
import { AccessDenied, type IdentityProvider, type User } from './providers/provider.ts'
import { callbackPath, upstreamObjectOf } from './upstream.ts'
import { userIdOf } from './user-id.ts'

/** What the pages need of the options of `signIn()`. */
export type PageOptions = {
  readonly providers: readonly IdentityProvider[]
  readonly rememberSeconds: number
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

/** What is stored during a visit to a provider, encrypted with the state. */
type VisitData = { readonly provider: string; readonly nonce: string; readonly codeVerifier: string }

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
        return problem.redirectTo ? redirect(problem.redirectTo) : problemPage(request, 400, `${problem.description}.`)
      }
      if (problem instanceof CimdFetchError) return problemPage(request, 400, 'This server cannot verify the app.')
      report(problem)
      return problemPage(request, 500, 'This server has a problem.')
    }
  }

  async #authorize(request: Request, serverInfo: ServerInfo, services: PageServices): Promise<Response> {
    if (request.method === 'POST') return this.#decide(request, services)
    if (request.method !== 'GET') return new Response(null, { status: 405, headers: { Allow: 'GET, POST' } })
    const { oauth, site } = services
    const parsed = await oauth.parseAuthRequest(request)
    const authorization = { ...parsed, scope: parsed.scope.filter((scope) => site.scopes.includes(scope)) }
    const { providers, rememberSeconds } = this.#options
    const [only, ...others] = providers
    if (only && others.length === 0 && rememberSeconds > 0) {
      const remembered = await oauth.isConsentRemembered(request, authorization, { secret: await services.secret() })
      if (remembered) return this.#visit(authorization, only, services)
    }
    const client = await oauth.describeConsent(authorization)
    const { handle, headers } = await oauth.beginConsent(authorization)
    const { name, title = name } = serverInfo.server.declarations.options
    return consentPage(request, { server: title, client, handle, providers }, headers)
  }

  /** Carries out the decision of the consent page. */
  async #decide(request: Request, services: PageServices): Promise<Response> {
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
    const approved = await oauth.approveConsent(request, handle, {
      scope: form.getAll('scope').filter((scope) => site.scopes.includes(scope)),
      ...(rememberSeconds > 0 && { remember: { secret: await services.secret(), maxAgeSeconds: rememberSeconds } }),
    })
    return this.#visit(approved.request, provider, services, approved.headers)
  }

  /** Sends the user to a provider. */
  async #visit(
    authorization: AuthRequest,
    provider: IdentityProvider,
    { oauth, site }: PageServices,
    approved?: Headers,
  ): Promise<Response> {
    const data: VisitData = {
      provider: provider.name,
      nonce: generateRandomNonce(),
      codeVerifier: generateRandomCodeVerifier(),
    }
    const { state, headers } = await oauth.beginUpstream(authorization, {
      data,
      ...(approved && { headers: approved }),
    })
    const url = await provider.authorizationUrl({ ...data, state, redirectUri: redirectUriOf(site, provider) })
    headers.set('Location', url.href)
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
      const granted = (await this.#options.grantScopes?.(user, approved)) ?? approved
      const userId = await userIdOf(user, provider)
      const props: GrantProps = { user, provider: provider.name }
      const { redirectTo } = await oauth.completeAuthorization({
        request: authorization,
        userId,
        metadata: { provider: provider.name },
        scope: granted.filter((scope) => approved.includes(scope)),
        props,
      })
      await objectOf(upstreamObjectOf(userId)).keepUpstream(userId, provider.name, tokens, true)
      headers.set('Location', redirectTo)
    } catch (problem) {
      const isDenied = problem instanceof AccessDenied
      if (!isDenied) report(problem)
      headers.set(
        'Location',
        isDenied
          ? authorizationErrorRedirect(authorization, 'access_denied', asDescription(problem.message))
          : authorizationErrorRedirect(
              authorization,
              'server_error',
              `Signing in with ${asDescription(provider.title)} failed`,
            ),
      )
    }
    return new Response(null, { status: 302, headers })
  }

  /** @throws AccessDenied */
  async #checkAllowed(user: User, provider: IdentityProvider): Promise<void> {
    const allowed = (await this.#options.allow?.(user, provider.name)) ?? true
    if (allowed === true) return
    throw new AccessDenied(typeof allowed === 'string' ? allowed : 'You do not have access to this server.')
  }

  #provider(name: string): IdentityProvider | undefined {
    return this.#options.providers.find((provider) => provider.name === name)
  }
}

const redirect = (url: string) =>
  new Response(null, { status: 302, headers: { Location: url, 'Cache-Control': 'no-store' } })

const redirectUriOf = ({ origin }: OAuthSite, { name }: IdentityProvider): string => `${origin}${callbackPath}${name}`

/** Characters that `error_description` must not have: RFC 6749, section 4.1.2.1. */
const asDescription = (text: string): string => text.replace(/[^ !#-[\]-~]/g, "'")
