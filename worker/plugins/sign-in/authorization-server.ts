/** The authorization server of an endpoint: `@cloudflare/workers-oauth-provider` with its storage on Durable Objects. */
import {
  OAuthAuthorizationServer,
  type OAuthAuthorizationServerOptions,
  OAuthError,
  type OAuthErrorInternal,
  type OAuthHelpers,
  type TokenExchangeCallbackOptions,
  type TokenExchangeCallbackResult,
} from '@cloudflare/workers-oauth-provider'
import { decodeJwt } from 'jose'
import type { EntryStorage, OAuthSite, SignInRpc } from '../../../durable-objects/sign-in/rpc.ts'
import { BoundedMap } from '../../protocol/bounded-map.ts'
import type { Refresh, Refreshing } from './decide.ts'
import type { Enterprise } from './enterprise.ts'
import { type GrantStorage, grantStorage, objectKeyOf, type RequestStorage } from './grant-storage.ts'
import { objectName } from './object-names.ts'

/** Options of the library that sign-in passes on. */
export type ServerOptions = Pick<
  OAuthAuthorizationServerOptions<Env>,
  'accessTokenTTL' | 'refreshTokenTTL' | 'refreshTokenIdleTTL' | 'clientRegistrationTTL'
> & { readonly enterprise?: Enterprise | undefined }

/** Decides about a refresh. */
export type Decide = (refresh: Refresh) => Promise<Refreshing>

/** Paths of the authorization server, on the origin of the endpoint. */
export const paths = { authorize: '/authorize', token: '/oauth/token', register: '/oauth/register' } as const

type WaitUntil = (work: Promise<unknown>) => void

/** What the library finds its storage in. */
type Env = {
  readonly OAUTH_KV: RequestStorage
  /** Continues work after the response. */
  readonly waitUntil: WaitUntil
  /** Decides about a refresh, which is refused for now without it. */
  readonly decide?: Decide | undefined
}

/** Returns the storage of the object of a key. */
export type StorageOf = (key: string) => EntryStorage

/** Returns the object of a key. */
export type ObjectOf = (key: string) => SignInRpc

/** Returns the key of the object with the upstream tokens of a user. */
export const upstreamKeyOf = (userId: string): string => `upstream:${userId}`

export class AuthorizationServers {
  readonly #options: ServerOptions
  readonly #servers = new BoundedMap<string, OAuthAuthorizationServer<Env>>({ maxEntries: 100 })

  constructor(options: ServerOptions) {
    this.#options = options
  }

  /** Returns the pages of the authorization server: parsing, consent, visits to a provider, grants. */
  helpers(site: OAuthSite, objectOf: StorageOf): OAuthHelpers {
    // The authorization page refuses other private-use redirect URIs than those of `signIn()`.
    return this.#at(site, true).getOAuthApi(this.#environment(site, objectOf, () => {}))
  }

  /**
   * Answers a request for the metadata, a token or a registration.
   *
   * @param allowPrivateUse whether a registration may have private-use redirect URIs only
   * @param decide about a refresh. Default: it is refused for now
   */
  async fetch(
    request: Request,
    site: OAuthSite,
    objectOf: StorageOf,
    waitUntil: WaitUntil,
    allowPrivateUse = false,
    decide?: Decide,
  ): Promise<Response> {
    // The library uses nothing else of the context.
    const context = { waitUntil, passThroughOnException() {}, props: {} } as unknown as ExecutionContext
    const environment = { ...this.#environment(site, objectOf, waitUntil), decide }
    const server = this.#at(site, allowPrivateUse)
    const answer = unlessOutage(server.fetch(request, environment, context), environment)
    // An assertion is released also for a client that has gone.
    waitUntil(answer.catch(() => {}))
    return answer
  }

  #at(site: OAuthSite, allowPrivateUseRedirectUris: boolean): OAuthAuthorizationServer<Env> {
    const key = JSON.stringify([site, allowPrivateUseRedirectUris])
    const known = this.#servers.get(key)
    if (known) return known
    const { origin, resources, scopes } = site
    const { enterprise, ...options } = this.#options
    const server = new OAuthAuthorizationServer<Env>({
      ...options,
      ...(enterprise && { enterpriseManagedAuthorization: enterprise.at(site) }),
      tokenExchangeCallback: decideAgain,
      onError: answerOutage(enterprise),
      issuer: origin,
      authorizeEndpoint: paths.authorize,
      tokenEndpoint: paths.token,
      clientRegistrationEndpoint: paths.register,
      resources,
      ...(resources[0] !== undefined && { defaultResource: resources[0] }),
      scopesSupported: [...scopes],
      clientIdMetadataDocumentEnabled: hasPublicFetch(),
      allowPrivateUseRedirectUris,
    })
    this.#servers.set(key, server)
    return server
  }

  #environment(site: OAuthSite, objectOf: StorageOf, waitUntil: WaitUntil): Env {
    const storage = grantStorage(objectOf, (user) => objectName(site, upstreamKeyOf(user)))
    const { enterprise } = this.#options
    if (!enterprise) return { OAUTH_KV: storage, waitUntil }
    const get: GrantStorage['get'] = async (key, options) =>
      (await enterprise.clientAt(key)) ?? storage.get(key, options)
    return { OAUTH_KV: { ...storage, get }, waitUntil }
  }
}

/** Requests after which authorization servers are replaced that have read keys of clients. */
const maxKeyRequests = 32

/**
 * Authorization servers for requests that read keys of clients. The library caches them by their number: 256 sets of 64 KiB can take more
 * memory than an isolate has.
 */
export class KeyServers {
  readonly #options: ServerOptions
  #servers: AuthorizationServers
  #requests = 0

  constructor(options: ServerOptions) {
    this.#options = options
    this.#servers = new AuthorizationServers(options)
  }

  /** Returns the servers for one request. */
  next(): AuthorizationServers {
    this.#requests += 1
    if (this.#requests % maxKeyRequests === 0) this.#servers = new AuthorizationServers(this.#options)
    return this.#servers
  }
}

/**
 * Lets the endpoint decide about a user again, for each code and each refresh. An error `invalid_grant` ends the grant.
 *
 * @throws OAuthError
 */
async function decideAgain({
  grantType,
  env,
  ...refresh
}: TokenExchangeCallbackOptions<Env> & { readonly env: Env }): Promise<TokenExchangeCallbackResult | undefined> {
  const isCode = grantType === 'authorization_code'
  if (grantType !== 'refresh_token' && !isCode) return undefined
  const { userId, clientId, props, scope, requestedScope } = refresh
  const decision = await env.decide?.({ userId, clientId, isCode, props, scope, requestedScope }).catch(console.error)
  if (!decision) throw unavailable('This server cannot decide about the user')
  if (decision.is === 'ended') throw ended(decision.reason)
  if (decision.is === 'unavailable') throw unavailable(decision.reason)
  if (isCode) return undefined
  const { scopes, newProps } = decision
  return { ...(newProps !== undefined && { newProps }), accessTokenScope: scopes }
}

const ended = (reason: string) => new OAuthError('invalid_grant', { description: asDescription(reason) })

const retryAfter = { 'Retry-After': '30' }

const unavailable = (reason: string) =>
  new OAuthError('temporarily_unavailable', {
    description: asDescription(`${reason}: try again later`),
    statusCode: 503,
    headers: retryAfter,
  })

/** Answers a token request that can be neither accepted nor refused now. After a refusal, clients discard their tokens and assertions. */
const answerOutage =
  (enterprise: Enterprise | undefined): NonNullable<OAuthAuthorizationServerOptions<Env>['onError']> =>
  ({ status, code, description, internal }) => {
    console.warn(`OAuth error response: ${status} ${code} - ${description}`)
    const outage = outageOf(internal, enterprise)
    if (outage === undefined) return undefined
    console.warn(outage, internal)
    return Response.json(
      { error: 'temporarily_unavailable', error_description: outage },
      { status: 503, headers: { ...retryAfter, 'Cache-Control': 'no-store' } },
    )
  }

/** Releases the assertion of a request that ended with an outage: the same one is accepted again. */
async function unlessOutage(answer: Promise<Response>, { OAUTH_KV: storage }: Env): Promise<Response> {
  const response = await answer.catch(async (problem: unknown) => {
    await storage.release()
    throw problem
  })
  if (response.status >= 500) await storage.release()
  return response
}

/** What the library and the runtime say while a metadata document cannot be read. Of one that was read, the library says what is wrong. */
const unread =
  /^(?:Failed to fetch client metadata: HTTP (?:408|429|5\d\d)$|Client metadata fetch timed out|Network connection lost|internal error)/

/** Returns who does not answer: the host of a client's metadata document or of its keys, the issuer of an assertion, or this server. */
function outageOf({ category, detail }: OAuthErrorInternal, enterprise: Enterprise | undefined): string | undefined {
  const failure = Object(detail)
  if (category === 'enterprise-managed-authorization') return enterprise?.outageOf(failure)
  const { message, reason, status = 503 } = failure
  const isUnread =
    category === 'client-id-metadata-document'
      ? unread.test(message)
      : category === 'client-authentication' && reason === 'jwks_fetch_failed' && /^(?:408|429|5\d\d)$/.test(status)
  return isUnread ? 'The server of the app does not answer: try again later' : undefined
}

/** Returns a text without the characters that `error_description` must not have: RFC 6749, section 4.1.2.1. */
export const asDescription = (text: string): string => text.replace(/[^ !#-[\]-~]/g, "'")

/**
 * Whether `fetch` reaches public addresses only. Otherwise the URL of a client's metadata document could name a service of the Worker's own
 * zone, and the library refuses such clients.
 *
 * @see https://developers.cloudflare.com/workers/configuration/compatibility-flags/#global-fetch-strictly-public
 */
function hasPublicFetch(): boolean {
  const { compatibilityFlags = {} } = Cloudflare
  return compatibilityFlags.global_fetch_strictly_public === true
}

/** Parameter with the code or token of a request, by its grant type. A revocation has none. */
const tokenParameters: ReadonlyMap<string, string> = new Map([
  ['', 'token'],
  ['authorization_code', 'code'],
  ['refresh_token', 'refresh_token'],
])

/** Returns the code or token of a token request, which names the grant that the request changes; `''` without one. */
export function tokenOf(params: URLSearchParams): string {
  const parameter = tokenParameters.get(params.get('grant_type') ?? '')
  return (parameter !== undefined && params.get(parameter)) || ''
}

/** Returns the key of the object of the grant of a code or token; `undefined` for a text of another form. */
export function grantObjectOfToken(token: string): string | undefined {
  const [, user, grant] = /^([^:]{1,512}):([^:]{1,64}):[^:]+$/.exec(token) ?? []
  return user === undefined ? undefined : objectKeyOf(`grant:${user}:${grant}`)
}

/**
 * Returns the client that a token request names, which the library has yet to verify; `undefined` without one. It is the client that the library
 * reads: another one could act as the client of a grant.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-2.3.1
 * @see https://www.rfc-editor.org/rfc/rfc7523#section-3
 */
export function clientOf(params: URLSearchParams, headers: Headers): string | undefined {
  const sent = (name: string) => params.getAll(name).find((value) => value !== '')
  const [scheme = '', ...credentials] = (headers.get('Authorization') ?? '').split(/[ \t]+/)
  try {
    if (scheme.toLowerCase() === 'basic') {
      const [name = ''] = atob(credentials.join('')).split(':')
      return decodeURIComponent(name.replaceAll('+', ' '))
    }
    const named: unknown = sent('client_id') ?? decodeJwt(sent('client_assertion') ?? '').iss
    return typeof named === 'string' ? named : undefined
  } catch {
    return undefined
  }
}

/**
 * Returns the parameters of a request with each scope once, and with `resource` as the metadata have it: clients may write a slash at its
 * end.
 */
export function canonicalParams(request: string | URLSearchParams, { resources }: OAuthSite): URLSearchParams {
  const params = new URLSearchParams(request)
  rewrite(params, 'resource', (one) => resources.find((known) => isSameButSlash(known, one)) ?? one)
  rewrite(params, 'scope', (scopes) => [...new Set(scopes.split(' '))].join(' '))
  return params
}

function rewrite(params: URLSearchParams, name: string, write: (value: string) => string): void {
  const values = params.getAll(name)
  params.delete(name)
  for (const value of values) params.append(name, write(value))
}

const isSameButSlash = (one: string, other: string): boolean => one.replace(/\/$/, '') === other.replace(/\/$/, '')
