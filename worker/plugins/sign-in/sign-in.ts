/**
 * `signIn()`: the endpoint is its own authorization server, and users sign in with an identity provider.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization
 */
import { decodeJwt } from 'jose'
import { decidedKey, type OwnGrant, SignIn } from '../../../durable-objects/sign-in/object.ts'
import type { EntryStorage, OAuthSite, ProviderName, SignInRpc } from '../../../durable-objects/sign-in/rpc.ts'
import { checkOptions } from '../../declarations/check-options.ts'
import { type Duration, milliseconds } from '../../declarations/duration.ts'
import type { Auth, Plugin, Runtime } from '../../plugin.ts'
import { readBodyText } from '../../protocol/bounded-body.ts'
import { isStrings } from '../../protocol/check-principal.ts'
import { McpError } from '../../protocol/errors.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import type { Principal } from '../../protocol/principal.ts'
import { authorizationServer } from '../../protocol/well-known.ts'
import type { ServerInfo } from '../../request-hooks.ts'
import { type BearerOptions, bearerKinds } from '../auth/bearer-options.ts'
import type { TokenClaims } from '../auth/claims.ts'
import { declaredScopes } from '../auth/declared-scopes.ts'
import { bearerToken } from '../auth/request-token.ts'
import { resourceServer } from '../auth/resource-server.ts'
import { AccountPages, type AccountPurpose, accountPath } from './account-pages.ts'
import {
  AuthorizationServers,
  canonicalParams,
  clientOf,
  grantObjectOfToken,
  KeyServers,
  type ObjectOf,
  paths,
  type StorageOf,
  tokenOf,
  upstreamKeyOf,
} from './authorization-server.ts'
import { AuthorizePages } from './authorize-pages.ts'
import { problemPage } from './consent-page.ts'
import { currentGrant, type EndedGrant, grantClaims, storeEnd } from './current-grant.ts'
import { type Decided, decideAgain, type GrantProps, type Refresh, type Refreshing, tenantsOf } from './decide.ts'
import { EndedAccess } from './ended-access.ts'
import { authorityOf, Enterprise, jwtBearer } from './enterprise.ts'
import { LinkPages, type LinkPurpose } from './link-pages.ts'
import { objectName, type Realm, readObjectName } from './object-names.ts'
import { finishVisit, isOwnState, type VisitServices } from './own-visits.ts'
import type { Authority, IdentityProvider, User } from './providers/provider.ts'
import { cursor, type SignInOptions, signInKinds } from './sign-in-options.ts'
import { callbackPath, linkPath, readUpstream, tokensName, upstreamHost } from './upstream.ts'
import { UpstreamCache } from './upstream-cache.ts'
import { type GrantManager, readUser, type SignedInUser, UserGrants } from './user-grants.ts'

/**
 * Types the claims of tokens of `signIn()`. Members are optional because the provider may not state them, and because other auths of the
 * Worker have principals without them.
 *
 * @example
 * declare module 'edgemcp' {
 *   interface Claims extends SignInClaims {}
 * }
 */
export interface SignInClaims {
  /** Name of the provider with which the user signed in. */
  readonly provider?: string
  /** Name of the user, for people. */
  readonly name?: string
  /** Login name of the user at the provider, which may change. */
  readonly preferred_username?: string
  /** Email address of the user. */
  readonly email?: string
  /** Whether the provider has verified `email`. */
  readonly email_verified?: boolean
  /** Groups of the user at the provider. */
  readonly groups?: readonly string[]
  /** The organization for which the user acts. */
  readonly tenant?: string
  /** Identifies the access of the app among that of the user: `id` of `grants()`. */
  readonly grant_id?: string
}

/** Types the Durable Object class that a Worker exports as `McpSignIn`. */
export interface SignInClass {
  new (ctx: DurableObjectState, env: Cloudflare.Env): SignIn
}

/** Authenticates the users of `serve()`, ends their access, and has the class that the Worker exports. */
export type SignInAuth = Auth &
  GrantManager & { readonly plugins: readonly [Plugin<{ readonly McpSignIn: SignInClass }>] }

/** Parameters of a token request. */
const maxParameters = 100
/** Redirect URIs of an app: each authorization request is compared with all of them. */
const maxRedirectUris = 100
/** Grant types of a client that registers none. ChatGPT refuses an answer without the second one. */
const usualGrants = ['authorization_code', 'refresh_token']

/** Bytes of a request to the authorization server. */
const maxBodyBytes = 64 * 1024

/** Milliseconds by which the clock of an issuer of assertions may be ahead: the library accepts no more. */
const issuerSkewMs = 60_000

/**
 * Creates an auth that signs users in with an identity provider. The Worker becomes the authorization server of its clients: it registers
 * them, asks users for consent, and issues tokens. Needs `npm install @cloudflare/workers-oauth-provider`.
 *
 * Export the class `McpSignIn` of the Worker. Register `https://<your host>/oauth/callback/<name of the provider>` at the provider.
 *
 * @throws Error for an invalid option. The message names the fix
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization
 *
 * @example
 * const worker = serve(server, { auth: signIn({ with: github({ clientId: env.GITHUB_ID, clientSecret: env.GITHUB_SECRET }) }) })
 * export default worker
 * export const { McpSession, McpSignIn } = worker
 */
export function signIn(options: SignInOptions): SignInAuth {
  checkOptions('signIn()', options, signInKinds)
  return new SignInServer(options).auth()
}

class SignInServer {
  readonly #options: SignInOptions
  readonly #servers: AuthorizationServers
  readonly #keyServers: KeyServers
  readonly #pages: AuthorizePages
  readonly #links: LinkPages
  readonly #accounts: AccountPages
  readonly #privateUseRedirectUris: readonly string[]
  /** Providers with which users sign in. */
  readonly #signInProviders: readonly IdentityProvider[]
  /** These, and those that are only connected. */
  readonly #providers: readonly IdentityProvider[]
  readonly #upstreamCache: UpstreamCache
  /** Paths of the authorization server. */
  readonly #paths: ReadonlySet<string>
  /** Milliseconds for which the end of access is remembered: as long as approvals and grants last. */
  readonly #endedMs: number
  #runtime: Runtime | undefined

  /** @throws Error for two providers of one name */
  constructor(options: SignInOptions) {
    const { accessTokenTtl = '1h', refreshTokenTtl = '30d', rememberConsent = '30d' } = options
    const { privateUseRedirectUris = [cursor] } = options
    const seconds = (value: Duration, name: string) => Math.ceil(milliseconds(value, `${name} of signIn()`) / 1000)
    this.#options = options
    this.#upstreamCache = new UpstreamCache(options.tokenCacheMs ?? 60_000)
    this.#privateUseRedirectUris = privateUseRedirectUris
    const providers = [options.with].flat()
    const refreshTokenTTL = seconds(refreshTokenTtl, 'refreshTokenTtl')
    // Once the grant has expired, nothing ends an access token of it.
    const accessTokenTTL = Math.min(seconds(accessTokenTtl, 'accessTokenTtl'), refreshTokenTTL)
    const enterprise = options.enterprise && new Enterprise(options.enterprise, options)
    const serverOptions = { accessTokenTTL, refreshTokenTTL, enterprise }
    this.#servers = new AuthorizationServers(serverOptions)
    this.#keyServers = new KeyServers(serverOptions)
    checkTenants(options, [...providers, ...(options.enterprise?.issuers ?? []).map(authorityOf)])
    this.#signInProviders = providers
    this.#providers = [...providers, ...(options.upstreams ?? [])]
    this.#links = new LinkPages(providers, this.#providers, (user) => tenantsOf(options, user))
    const rememberSeconds = seconds(rememberConsent, 'rememberConsent')
    this.#endedMs = Math.max(rememberSeconds, refreshTokenTTL) * 1000
    this.#accounts = new AccountPages(providers, this.#providers, this.#endedMs)
    const names = [...this.#providers, ...(options.enterprise?.issuers ?? [])].map(({ name }) => name)
    this.#paths = new Set([
      authorizationServer,
      ...Object.values(paths),
      accountPath,
      ...this.#providers.flatMap(({ name }) => [callbackPath + name, linkPath + name]),
    ])
    const twice = names.find((name, index) => names.indexOf(name) !== index)
    if (twice !== undefined) {
      throw new Error(
        `Two providers of signIn() have the name "${twice}": give one another name, as in github({ name: 'work', … })`,
      )
    }
    this.#pages = new AuthorizePages({
      ...options,
      providers,
      descriptions: isStrings(options.scopes) ? {} : (options.scopes ?? {}),
      privateUseRedirectUris,
      rememberSeconds,
    })
  }

  auth(): SignInAuth {
    const { scopes, storedClaims = [], ...options } = this.#options
    const resource = resourceServer(
      {
        ...pickBearer(options),
        ...(isStrings(scopes) && { scopes }),
        tenantClaim: 'tenant',
        storedClaims: [...grantClaims, ...userClaims, ...storedClaims],
      },
      {
        // `<user>:<grant>:<secret>`
        token: (request) => bearerToken(request, /^[\w.~:-]+$/),
        credentials: [{ pattern: /^[^:]+:[^:]+:[^:]+$/ }],
        isDescribed: true,
        origin: this.#options.origin,
        acceptsSlash: true,
        verifier: {
          issuer: (request) => this.#originOf(request),
          issuers: options.origin === undefined ? undefined : [options.origin],
          claims: (token, request, serverInfo) => this.#claims(token, request, serverInfo),
          current: (principal) => this.#current(principal),
        },
      },
    )
    return {
      ...resource,
      plugins: [
        {
          name: 'signIn',
          provide: (runtime) => this.#serve(runtime),
          objects: { McpSignIn: (runtime) => this.#classFor(runtime) },
          context: (runtime) => ({
            upstream:
              (ctx) =>
              (name, options = {}) =>
                readUpstream(ctx, name, options, this.#providers, runtime, this.#upstreamCache),
          }),
        },
      ],
      routes: [...this.#paths].filter((path) => path !== authorizationServer),
      handleRequest: (request, serverInfo) =>
        this.#answer(request, serverInfo) ?? resource.handleRequest?.(request, serverInfo),
      grants: async (user) => {
        const { subject, grants } = this.#grantsOf(user)
        const listed = await grants.list(subject)
        return listed.map(({ id, clientId, scope, createdAt, expiresAt }) => ({
          id,
          clientId,
          scopes: scope,
          createdAt: createdAt * 1000,
          expiresAt: expiresAt && expiresAt * 1000,
        }))
      },
      signOut: async (user) => {
        const { subject, grants } = this.#grantsOf(user)
        return grants.endAll(subject)
      },
    }
  }

  /** @throws Error if another endpoint has it: `signOut()` would not know whose access it ends */
  #serve(runtime: Runtime): object {
    if (this.#runtime && this.#runtime.identity !== runtime.identity) {
      throw new Error('Two endpoints have the same signIn(): call signIn() for each of them')
    }
    this.#runtime = runtime
    return {}
  }

  /** @throws Error for an invalid user, and before `serve()` was called */
  #grantsOf(user: SignedInUser): { readonly subject: string; readonly grants: UserGrants } {
    const runtime = this.#runtime
    if (!runtime) {
      throw new Error(
        'signIn() is not served: pass it as auth to serve(), alone or with oneOf(), before you list or end access',
      )
    }
    const { issuer, subject } = readUser(user, this.#options.origin)
    // The library wants a resource, which only tokens need.
    const site: OAuthSite = { origin: issuer, identity: runtime.identity, resources: [issuer], scopes: [] }
    const objectOf = objectsOf(runtime, site)
    const oauth = this.#servers.helpers(site, objectOf)
    return { subject, grants: new UserGrants(oauth, objectOf, this.#endedMs) }
  }

  /** Answers a request to the authorization server; `undefined` for any other request. */
  #answer(received: Request, serverInfo: ServerInfo): Promise<Response> | undefined {
    const { pathname } = new URL(received.url)
    if (!this.#paths.has(pathname)) return undefined
    const request = this.#atOrigin(received)
    const site = this.#siteOf(request, serverInfo)
    const objectOf = objectsOf(serverInfo, site)
    const waitUntil = (work: Promise<unknown>) => serverInfo.waitUntil(work)
    if (pathname === authorizationServer) return this.#servers.fetch(request, site, objectOf, waitUntil)
    if (pathname === paths.register || pathname === paths.token) {
      const answer =
        pathname === paths.token
          ? this.#answerToken(request, site, objectOf, waitUntil)
          : this.#answerRegistration(request, site, objectOf, waitUntil)
      return answer.catch((problem: unknown) => {
        serverInfo.report(problem)
        return unavailable()
      })
    }
    const services = { site, objectOf, oauth: this.#servers.helpers(site, objectOf) }
    const own =
      this.#answerVisit(request, serverInfo, services) ??
      this.#links.answer(request, serverInfo, services) ??
      this.#accounts.answer(request, serverInfo, services)
    if (own) {
      // What ends access goes on for a browser that has gone.
      serverInfo.waitUntil(own.catch(() => {}))
      return own.catch((problem: unknown) => {
        serverInfo.report(problem)
        return problemPage(request, 500, 'This server has a problem.')
      })
    }
    return this.#pages.answer(request, serverInfo, services)
  }

  /** Answers the callback of a visit that ends on a page of this server; `undefined` for any other request. */
  #answerVisit(request: Request, serverInfo: ServerInfo, services: VisitServices): Promise<Response> | undefined {
    const { pathname, searchParams } = new URL(request.url)
    if (!pathname.startsWith(callbackPath) || !isOwnState(searchParams.get('state') ?? '')) return undefined
    const provider = this.#providers.find(({ name }) => name === pathname.slice(callbackPath.length))
    return provider && this.#finishVisit(request, provider, serverInfo, services)
  }

  async #finishVisit(request: Request, provider: IdentityProvider, serverInfo: ServerInfo, services: VisitServices) {
    const finished = await finishVisit<LinkPurpose | AccountPurpose>(request, provider, serverInfo, services)
    if (finished instanceof Response) return finished
    const { purpose } = finished
    const response =
      purpose.page === 'link'
        ? await this.#links.finish(request, { ...finished, purpose }, provider, serverInfo, services)
        : await this.#accounts.finish({ ...finished, purpose }, serverInfo, services)
    response.headers.append('Set-Cookie', finished.endCookie)
    return response
  }

  /** Answers a registration, which is stored as it was sent, with the grant types that the client gets without naming any. */
  async #answerRegistration(
    request: Request,
    site: OAuthSite,
    objectOf: ObjectOf,
    waitUntil: (work: Promise<unknown>) => void,
  ): Promise<Response> {
    if (request.method !== 'POST') return this.#servers.fetch(request, site, objectOf, waitUntil)
    const body = await boundedText(request)
    if (body === undefined) return tooLarge()
    const registration = objectIn(body)
    const text = registration ? JSON.stringify({ grant_types: usualGrants, ...registration }) : body
    const whole = new Request(request.url, { method: 'POST', headers: request.headers, body: text })
    const redirectUris = isStrings(registration?.redirect_uris) ? registration.redirect_uris : []
    if (redirectUris.length > maxRedirectUris) {
      return refusal(400, 'invalid_redirect_uri', `An app has at most ${maxRedirectUris} redirect URIs`)
    }
    const isOfKnownApp = redirectUris.some((uri) => this.#privateUseRedirectUris.includes(uri))
    return this.#servers.fetch(whole, site, objectOf, waitUntil, isOfKnownApp)
  }

  /** Answers a token request, in the object of its grant if the client and the token are those of the grant: no other request delays them. */
  async #answerToken(
    request: Request,
    site: OAuthSite,
    objectOf: ObjectOf,
    waitUntil: (work: Promise<unknown>) => void,
  ): Promise<Response> {
    if (request.method !== 'POST') return this.#servers.fetch(request, site, objectOf, waitUntil)
    const received = await boundedText(request)
    if (received === undefined) return tooLarge()
    const params = new URLSearchParams(received)
    // The library compares each of them with all others.
    if (params.size > maxParameters) {
      return refusal(400, 'invalid_request', `A token request has at most ${maxParameters} parameters`)
    }
    const text = String(canonicalParams(params, site))
    const whole = () => new Request(request.url, { method: 'POST', headers: request.headers, body: text })
    const token = tokenOf(params)
    const key = grantObjectOfToken(token)
    const clientId = clientOf(params, request.headers)
    if (key !== undefined && clientId !== undefined) {
      const named = this.#signInProviders.map(({ name, issuer, clientId }) => ({ name, issuer, clientId }))
      const answered = await objectOf(key).answer(whole(), site, key, { clientId, token }, named)
      if (answered) return answered
    }
    // The library verifies the client before it refuses a code or token that is not its own.
    const servers = params.has('client_assertion') ? this.#keyServers.next() : this.#servers
    const issued = await servers.fetch(whole(), site, objectOf, waitUntil)
    const isAssertion = params.get('grant_type') === jwtBearer
    return isAssertion ? this.#unlessEnded(issued, String(params.get('assertion')), site, objectOf) : issued
  }

  /**
   * Refuses the access token of an assertion from before the end of the user's access, also if the clock of its issuer is ahead. The token has
   * not left this server.
   */
  async #unlessEnded(issued: Response, assertion: string, site: OAuthSite, objectOf: ObjectOf): Promise<Response> {
    if (!issued.ok) return issued
    // `<user>:<grant>:<secret>`
    const { access_token: token } = await issued.clone().json<{ access_token: string }>()
    const [userId = '', grant = ''] = token.split(':')
    const endedAt = await EndedAccess.ofAnyClient(objectOf, userId).time()
    if (endedAt === 0 || Number(decodeJwt(assertion).iat) * 1000 - issuerSkewMs > endedAt) return issued
    await this.#servers.helpers(site, objectOf).revokeGrant(grant, userId)
    return refusal(400, 'invalid_grant', 'The access of the user has ended: get another assertion')
  }

  /** Decides about a refresh, in the object of the grant. @param named the providers of the endpoint that received the request */
  #decide(refresh: Refresh, named: readonly ProviderName[], objectOf: ObjectOf): Promise<Refreshing> {
    return decideAgain(
      refresh,
      this.#options,
      named,
      this.#signInProviders,
      (userId, clientId) => EndedAccess.ofGrant(objectOf, userId, clientId),
      (userId, provider, tenant) =>
        objectOf(upstreamKeyOf(userId)).upstreamUser(userId, tokensName(provider, userId, tenant)),
    )
  }

  /** Returns the class, whose objects may run another deployment than the requests that reach them. */
  #classFor(runtime: Runtime): SignInClass {
    const { seals, report, waitUntil } = runtime
    const servers = this.#servers
    const keyServers = this.#keyServers
    const providers = this.#providers
    const decide = this.#decide.bind(this)
    const endedMs = this.#endedMs
    return class McpSignIn extends SignIn {
      constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
        super(ctx, env, {
          ...upstreamHost(providers, seals(undefined), report),
          async signOut(upstream) {
            const user = readObjectName(upstream).key.slice(upstreamKeyOf('').length)
            await runtime.object<SignInRpc>('McpSignIn', upstream).clearUpstream(user)
          },
          async answer(request, site, own, named) {
            const objectOf = objectsOf(runtime, site)
            let isUnstored = false
            const storage = storageWith(own, objectOf, endedMs, async () => {
              isUnstored = true
            })
            const response = await keyServers
              .next()
              .fetch(request, site, storage, waitUntil, false, async (refresh) => {
                const decision = await decide(refresh, named, objectOf)
                if (decision.is === 'granted' && decision.decided) {
                  const sealed = await seals(undefined).seal(own.key, JSON.stringify(decision.decided), endedMs)
                  await own.storage.write(decidedKey, sealed, undefined, undefined)
                }
                return decision
              })
            // The library ignores that the grant of a code that was sent twice could not be ended.
            if (isUnstored && response.status < 500) await own.storage.remove(own.key)
            return response
          },
          async endGrant(site, own) {
            const [, user = '', grant = ''] = own.key.split(':')
            // Nobody repeats it: a refresh token was sent again that was replaced, or a grant has expired.
            const remove = () => own.storage.remove(own.key)
            const storage = storageWith(own, objectsOf(runtime, site), endedMs, remove)
            await servers.helpers(site, storage).revokeGrant(grant, user)
          },
          async endGrants(upstream, keys) {
            const objectOf = objectsOf(runtime, readObjectName(upstream))
            await Promise.all(keys.map((key) => objectOf(key).remove(key)))
          },
        })
      }
    }
  }

  /** Returns the claims of a token that this server issued. */
  async #claims(token: string, request: Request, serverInfo: ServerInfo): Promise<TokenClaims | undefined> {
    // The library parses the token, and asks no object for one of another form.
    if (grantObjectOfToken(token) === undefined) return undefined
    const site = this.#siteOf(request, serverInfo)
    const oauth = this.#servers.helpers(site, objectsOf(serverInfo, site))
    const found = await oauth.unwrapToken<GrantProps>(token).catch((problem: unknown) => {
      serverInfo.report(problem)
      throw new McpError('unavailable', 'Access tokens cannot be verified now: try again later', undefined, {
        'Retry-After': '5',
      })
    })
    if (!found) return undefined
    const { user, tenant } = found.grant.props
    return {
      iss: site.origin,
      sub: found.userId,
      aud: found.audience ?? site.resources[0],
      client_id: found.grant.clientId,
      scope: found.scope.join(' '),
      iat: found.createdAt,
      exp: found.expiresAt,
      grant_id: found.grantId,
      ...claimsOf(user),
      ...(tenant !== undefined && { tenant }),
    }
  }

  /** Returns the claims of a stored principal, as the last refresh of its grant decided; `undefined` once the grant has ended. */
  async #current(principal: Principal): Promise<TokenClaims | undefined> {
    const { issuer, subject, client, claims } = principal
    const runtime = this.#runtime
    if (!runtime || !('grant_id' in claims)) return undefined
    const objectOf = objectsOf(runtime, { origin: issuer, identity: runtime.identity })
    const granted = await currentGrant(objectOf, principal, this.#endedMs)
    if (!granted) return undefined
    const known = { iss: issuer, sub: subject, client_id: client }
    if (granted.decided === undefined) return { ...claims, ...known, scope: granted.scopes }
    const text = await runtime.seals(undefined).open(granted.key, granted.decided)
    // Its key is no longer in EDGEMCP_KEYS.
    if (typeof text !== 'string') return undefined
    const { scopes, user }: Decided = JSON.parse(text)
    const kept = Object.entries(claims).filter(([name]) => !userClaims.includes(name))
    return { ...Object.fromEntries(kept), ...claimsOf(user), ...known, scope: scopes }
  }

  #siteOf(request: Request, { paths: { mcp, sse }, server, hasSessions, seals }: ServerInfo): OAuthSite {
    const origin = this.#originOf(request)
    const { scopes = [], requiredScopes = [] } = this.#options
    const [first, described] = isStrings(scopes) ? [scopes, []] : [[], Object.keys(scopes)]
    return {
      origin,
      identity: seals(undefined).identity,
      resources: (hasSessions ? [mcp, sse] : [mcp]).map((path) => new URL(path, origin).href),
      scopes: [...new Set([...first, ...requiredScopes, ...declaredScopes(server), ...described])],
    }
  }

  /** Returns the request at the origin that clients know: the library compares its URL with the issuer. */
  #atOrigin(request: Request): Request {
    const { origin, pathname, search } = new URL(request.url)
    const known = this.#options.origin ?? origin
    return origin === known ? request : new Request(known + pathname + search, request)
  }

  #originOf({ url }: Request): string {
    return this.#options.origin ?? new URL(url).origin
  }
}

/** @throws Error for two authorities that may state the same tenant, and for one without tenants where a tenant is required */
function checkTenants({ tenant, requireTenant }: SignInOptions, authorities: readonly Authority[]): void {
  if (tenant) return
  const stating = authorities.filter(({ tenants }) => tenants)
  const open = stating.find(({ tenants }) => tenants === 'any')
  if (open && stating.length > 1) {
    const others = stating.filter((one) => one !== open).map(({ name }) => `"${name}"`)
    throw new Error(
      `"${open.name}" of signIn() may state any tenant, also those of ${others.join(' and ')}: list its own, as in tenants: ['acme'], or name the tenant of each user, as in tenant: ({ provider, tenant }) => tenant && provider + ':' + tenant`,
    )
  }
  const without = authorities.find(({ tenants }) => !tenants)
  if (requireTenant && without) {
    throw new Error(
      `signIn() has requireTenant, but users of "${without.name}" have no tenant: name it, as in tenant: ({ groups }) => groups`,
    )
  }
}

/** Names of the claims of `claimsOf`. */
const userClaims = ['provider', 'name', 'preferred_username', 'email', 'email_verified', 'groups']

const claimsOf = ({ provider, name, login, email, emailVerified, groups }: User): TokenClaims => ({
  provider,
  ...(name !== undefined && { name }),
  ...(login !== undefined && { preferred_username: login }),
  ...(email !== undefined && { email }),
  ...(emailVerified !== undefined && { email_verified: emailVerified }),
  ...(groups && { groups }),
})

/** Returns the body of a request to the authorization server; `undefined` for one that is too large. */
async function boundedText({ body }: Request): Promise<string | undefined> {
  const { text, length } = await readBodyText(body, maxBodyBytes)
  return length > maxBodyBytes ? undefined : text
}

/** Returns a registration; `undefined` for a body that is none. */
function objectIn(body: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const parsed: unknown = JSON.parse(body)
    return isObject(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}

const tooLarge = () => refusal(413, 'invalid_request', 'The body of the request is too large')

const unavailable = () =>
  refusal(503, 'temporarily_unavailable', 'This server cannot answer now: try again later', { 'Retry-After': '5' })

/** @see https://www.rfc-editor.org/rfc/rfc6749#section-5.2 */
const refusal = (status: number, error: string, description: string, more: Readonly<Record<string, string>> = {}) =>
  Response.json(
    { error, error_description: description },
    { status, headers: { 'Access-Control-Allow-Origin': '*', 'Cache-Control': 'no-store', ...more } },
  )

const objectsOf =
  (serverInfo: Pick<ServerInfo, 'object'>, realm: Realm): ObjectOf =>
  (key) =>
    serverInfo.object<SignInRpc>('McpSignIn', objectName(realm, key))

/**
 * Returns the storage of all keys to a request that has its turn in the object of a grant. A request that deletes the grant ends access: it is
 * a revocation, or has a token or a user that is refused. So does one that deletes the access token of a grant without a refresh token. A
 * sign-in that replaces the grant deletes it from outside.
 *
 * @param endedMs milliseconds for which the end is remembered
 * @param onUnstored called if the end could not be stored: the grant is not deleted, so that the request can be repeated
 */
function storageWith(
  { key: ownKey, storage }: OwnGrant,
  objectOf: ObjectOf,
  endedMs: number,
  onUnstored: () => Promise<void>,
): StorageOf {
  const remove = async (key: string) => {
    // The library wrote the grant.
    const grant: (EndedGrant & { readonly refreshTokenId?: string }) | null = JSON.parse(
      (await storage.read(ownKey)) ?? 'null',
    )
    const isGrant = key === ownKey
    if (!grant || !(isGrant || grant.refreshTokenId === undefined)) return storage.remove(key)
    const store = () => storeEnd(objectOf, ownKey, grant, endedMs)
    try {
      await store().catch(store)
    } catch (problem) {
      await onUnstored()
      throw problem
    }
    await storage.remove(ownKey)
    // The library does so after it has deleted a grant.
    if (!isGrant) await objectOf(`user:${grant.userId}`).remove(ownKey)
  }
  const own: EntryStorage = { ...storage, remove }
  return (key) => (key === ownKey ? own : objectOf(key))
}

/** Returns the options that `bearer()` has, too. */
function pickBearer(options: Omit<SignInOptions, 'scopes'>): BearerOptions {
  const known = Object.entries(options).filter(([name]) => Object.hasOwn(bearerKinds, name))
  return Object.fromEntries(known)
}
