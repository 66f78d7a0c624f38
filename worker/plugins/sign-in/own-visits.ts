/**
 * Visits to a provider that end on a page of this server, not at a client: to connect a provider, and to show an account. The state is sealed, bound
 * to the browser by a cookie, and works once.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-10.12
 */
import { generateRandomCodeVerifier, generateRandomNonce } from 'oauth4webapi'
import type { OAuthSite } from '../../../durable-objects/sign-in/rpc.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import type { ServerInfo } from '../../request-hooks.ts'
import type { ObjectOf } from './authorization-server.ts'
import { messagePage } from './consent-page.ts'
import { deleteCookie, deleteOldest, readCookie, setCookie } from './cookies.ts'
import { AccessDenied, type IdentityProvider, type UpstreamTokens, type User } from './providers/provider.ts'
import { callbackPath } from './upstream.ts'
import { userIdOf, userOf } from './user.ts'

/** What a visit is for. `scopes` are requested besides those of each sign-in. */
export type VisitPurpose = { readonly page: string; readonly scopes?: readonly string[] }

/** The services of one request. */
export type VisitServices = { readonly site: OAuthSite; readonly objectOf: ObjectOf }

/** A visit that has ended well. */
export type Finished<P> = {
  readonly purpose: P
  readonly user: User
  /** The id of the user among those of all providers. */
  readonly userId: string
  readonly tokens: UpstreamTokens
  /** When the user was first sent to a provider, in milliseconds since 1970. */
  readonly startedAt: number
  /** A header `Set-Cookie` for the response. */
  readonly endCookie: string
}

type Sealed<P> = {
  readonly purpose: P
  readonly startedAt: number
  readonly provider: string
  readonly nonce: string
  readonly codeVerifier: string
  /** The value of the cookie of the browser. */
  readonly browser: string
}

/** Each visit has a cookie of its own, so that the tabs of a browser are independent. */
const cookiePrefix = '__Host-oauth-visit-'
const cookieNameOf = ({ nonce }: Pick<Sealed<unknown>, 'nonce'>) => cookiePrefix + nonce.slice(0, 16)

/** Visits of a browser at the same time. A site that opens more of them makes no request too large. */
const maxVisits = 5
const sealPurpose = ({ origin }: OAuthSite) => `sign-in visit ${origin}`

/** Milliseconds that a user has to sign in. */
const lifeMs = 10 * 60_000

/** Whether a state is of such a visit: sealed texts have a dot, states of sign-in have none. */
export const isOwnState = (state: string): boolean => state.includes('.')

/**
 * Sends the user to a provider, or shows a page if the provider does not answer.
 *
 * @param startedAt when the first of several visits started, in milliseconds since 1970. Default: now
 */
export async function beginVisit(
  request: Request,
  provider: IdentityProvider,
  purpose: VisitPurpose,
  { seals, report }: ServerInfo,
  { site }: VisitServices,
  startedAt = Date.now(),
): Promise<Response> {
  const visit = { nonce: generateRandomNonce(), codeVerifier: generateRandomCodeVerifier() }
  const browser = generateRandomNonce()
  const sealed: Sealed<VisitPurpose> = { ...visit, purpose, startedAt, provider: provider.name, browser }
  const state = await seals(undefined).seal(sealPurpose(site), sealed, lifeMs)
  const redirectUri = redirectUriOf(site, provider)
  const url = await provider.authorizationUrl({ ...visit, state, redirectUri, ...scopesOf(purpose) }).catch(report)
  if (!url) return unanswered(request, provider)
  const headers = new Headers({ Location: url.href, 'Cache-Control': 'no-store' })
  for (const cookie of deleteOldest(request, cookiePrefix, maxVisits)) headers.append('Set-Cookie', cookie)
  headers.append('Set-Cookie', setCookie(cookieNameOf(visit), browser, lifeMs, 'Lax'))
  return new Response(null, { status: 302, headers })
}

/** Returns who came back from a provider, and why; or a page that tells what went wrong. */
export async function finishVisit<P extends VisitPurpose>(
  request: Request,
  provider: IdentityProvider,
  { seals, report }: ServerInfo,
  { site, objectOf }: VisitServices,
): Promise<Finished<P> | Response> {
  const callback = new URL(request.url)
  const state = callback.searchParams.get('state') ?? ''
  const opened = await seals(undefined).open(sealPurpose(site), state)
  // What `beginVisit` sealed.
  const sealed = isObject(opened) ? (opened as Sealed<P>) : undefined
  const failed = (status: number, sentence: string) => messagePage(request, status, 'Sign-in failed', sentence)
  // The answer of another provider, or in another browser: RFC 9700, sections 4.4 and 4.7.
  if (sealed?.provider !== provider.name || readCookie(request, cookieNameOf(sealed)) !== sealed.browser) {
    return failed(400, 'The page is too old, or was opened in another browser. Start again.')
  }
  const key = `visit-jti:${sealed.nonce}`
  if ((await objectOf(key).reserve(key)) !== null) return failed(400, 'This page was opened before. Start again.')
  await objectOf(key).write(key, '1', undefined, Date.now() + lifeMs)
  try {
    const visit = { ...sealed, state, redirectUri: redirectUriOf(site, provider), ...scopesOf(sealed.purpose) }
    const { user: profile, tokens } = await provider.finish(callback, visit)
    const user = userOf(profile, provider)
    const userId = await userIdOf(user)
    const { purpose, startedAt } = sealed
    return { purpose, user, tokens, userId, startedAt, endCookie: deleteCookie(cookieNameOf(sealed)) }
  } catch (problem) {
    if (problem instanceof AccessDenied) return failed(403, problem.message)
    report(problem)
    return unanswered(request, provider)
  }
}

const unanswered = (request: Request, { title }: IdentityProvider): Promise<Response> =>
  messagePage(request, 502, 'Sign-in failed', `${title} did not sign you in. Try again later.`)

const scopesOf = ({ scopes }: VisitPurpose) => (scopes ? { scopes } : {})

const redirectUriOf = ({ origin }: OAuthSite, { name }: IdentityProvider): string => `${origin}${callbackPath}${name}`
