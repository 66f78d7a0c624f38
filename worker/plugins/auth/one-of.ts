/**
 * `oneOf()`: several kinds of credentials for one endpoint. The form of a credential decides which auth verifies it. A credential that this
 * auth refuses is refused: no other auth sees it.
 */
import { checkValue } from '../../declarations/check-options.ts'
import type { Context } from '../../declarations/context.ts'
import * as kind from '../../declarations/option-kinds.ts'
import type { StoredPrincipals } from '../../declarations/stored-principal.ts'
import type { AnyPlugin, Auth } from '../../plugin.ts'
import { checkCaller, checkPrincipal } from '../../protocol/check-principal.ts'
import { McpError } from '../../protocol/errors.ts'
import type { Principal } from '../../protocol/principal.ts'
import { protectedResource } from '../../protocol/well-known.ts'
import { challengeText } from '../../protocol/www-authenticate.ts'
import type { IncomingRequest, ServerInfo, TestUser } from '../../request-hooks.ts'
import { foreignIssuer } from './claims.ts'
import { CredentialForms } from './credential-forms.ts'
import { tenantClaimFor } from './for-tenant.ts'
import { mergedMetadata } from './merged-metadata.ts'

/** Computes the plugins of several auths. */
export type PluginsOf<A extends readonly Auth[]> = A extends readonly [
  infer First,
  ...infer Rest extends readonly Auth[],
]
  ? [...(First extends { readonly plugins: infer P extends readonly AnyPlugin[] } ? P : []), ...PluginsOf<Rest>]
  : []

/** Authenticates callers by several auths, and has the plugins of all of them. */
export type OneOfAuth<A extends readonly Auth[]> = Auth & { readonly plugins: PluginsOf<A> }

/**
 * Creates an auth that accepts several kinds of credentials, such as the tokens of an authorization server and API keys. Each credential
 * is verified by exactly one auth, which `credentials` of the auths decide: by its header, its prefix, or its issuer. A request with two
 * credentials is refused.
 *
 * @param auths the auths, such as `bearer()`, `signIn()`, `cloudflareAccess()` and `forTenant()` of them
 * @throws Error for auths whose credentials or issuers overlap, and for one without `credentials`. The message names the fix
 *
 * @example
 * const access = cloudflareAccess({ team: 'example', audience: '4714c1358e65fe4b408ad6d432a5f878' })
 * serve(server, { auth: oneOf(bearer({ issuer: 'https://auth.example.com' }), access) })
 */
export function oneOf<const A extends readonly [Auth, ...Auth[]]>(...auths: A): OneOfAuth<A> {
  for (const [index, auth] of auths.entries()) checkValue('oneOf()', `argument ${index + 1}`, auth, kind.auth)
  if (auths.length === 0) throw new Error('oneOf() needs at least one auth, such as bearer({ issuer })')
  // The types of the plugins are those of the arguments.
  return new OneOf(auths).auth() as OneOfAuth<A>
}

class OneOf {
  readonly #auths: readonly Auth[]
  readonly #forms: CredentialForms
  /** The auth that admitted the caller of a request. */
  readonly #admittedBy = new WeakMap<Request, Auth>()

  /** @throws Error for auths that cannot be combined */
  constructor(auths: readonly Auth[]) {
    this.#auths = auths
    this.#forms = new CredentialForms(auths)
    checkIssuers(auths)
  }

  auth(): Auth {
    const auths = this.#auths
    const tenants = new Set(auths.map(({ tenant }) => tenant))
    const others = auths.find(({ issuers }) => !issuers)
    const pages = auths.flatMap(({ routes = [] }) => routes)
    const hasTestUsers = auths.some(({ authenticateTestUser }) => authenticateTestUser)
    return {
      plugins: auths.flatMap((auth) => (auth.plugins ?? []).map((plugin) => this.#forOwnPrincipals(plugin, auth))),
      tenant: tenants.size === 1 ? auths[0]?.tenant : undefined,
      tenantClaimOf: (principal) => tenantClaimFor(this.#ownerOf(principal.issuer), principal),
      allowAnonymous: auths.some(({ allowAnonymous }) => allowAnonymous),
      credentialHeaders: this.#forms.credentialHeaders,
      credentials: auths.flatMap(({ credentials = [] }) => credentials),
      get issuers() {
        return others ? undefined : auths.flatMap(({ issuers = [] }) => issuers)
      },
      validate: (server) => {
        for (const auth of auths) auth.validate?.(server)
      },
      authenticate: (...request) => this.#authenticate(...request),
      ...(hasTestUsers && { authenticateTestUser: (...user) => this.#authenticateTestUser(...user) }),
      authorize: (incoming, serverInfo) => this.#authorize(incoming, serverInfo),
      ...(pages.length > 0 && { routes: pages }),
      handleRequest: (request, serverInfo) => this.#handleRequest(request, serverInfo),
      ...(others && storedOf(others)),
      admit: (principal) => {
        const owner = this.#ownerOf(principal.issuer)
        if (!owner) throw foreignIssuer(principal)
        return owner.admit?.(principal) ?? principal
      },
      get storedByIssuer() {
        return Object.fromEntries(
          auths.flatMap((auth) => [
            ...(auth.issuers ?? []).map((issuer) => [issuer, storedOf(auth)] as const),
            ...Object.entries(auth.storedByIssuer ?? {}),
          ]),
        )
      },
    }
  }

  async #authenticate(
    request: Request,
    serverInfo: ServerInfo,
    incoming: IncomingRequest,
  ): Promise<Principal | undefined> {
    for (const auth of this.#auths) auth.validate?.(serverInfo.server)
    const found = this.#forms.find(request)
    if (found === undefined) return this.#authenticateAnonymous(request, serverInfo, incoming)
    if ('malformed' in found) throw invalidRequest(found.malformed)
    if (!found.owner) {
      const message = 'The credential is of no kind that this server accepts'
      const challenge = challengeText({ error: 'invalid_token', description: message })
      throw await this.#withChallenges(
        new McpError('unauthorized', message, undefined, { 'WWW-Authenticate': challenge }),
        this.#auths,
        request,
        serverInfo,
      )
    }
    const { owner } = found
    try {
      const caller = checkCaller(owner, await owner.authenticate(request, serverInfo, incoming))
      return this.#admit(caller, owner, incoming)
    } catch (problem) {
      const others = this.#auths.filter((auth) => auth !== owner)
      throw await this.#withChallenges(problem, others, request, serverInfo)
    }
  }

  /** Admits a request without a credential if one of the auths does. */
  async #authenticateAnonymous(
    request: Request,
    serverInfo: ServerInfo,
    incoming: IncomingRequest,
  ): Promise<Principal | undefined> {
    let refused: McpError | undefined
    for (const auth of this.#auths) {
      try {
        const principal = checkCaller(auth, await auth.authenticate(request, serverInfo, incoming))
        if (principal)
          throw new Error('An auth of oneOf() accepted a credential that is not described in its credentials')
        this.#admittedBy.set(request, auth)
        return undefined
      } catch (problem) {
        if (!isUnauthorized(problem)) throw problem
        refused = refused ? joined(refused, problem) : problem
      }
    }
    throw refused
  }

  async #authenticateTestUser(
    user: TestUser,
    request: Request,
    serverInfo: ServerInfo,
    incoming: IncomingRequest,
  ): Promise<Principal> {
    const { iss } = user.claims
    const able = this.#auths.filter(({ authenticateTestUser }) => authenticateTestUser)
    const named = iss === undefined ? able[0] : this.#ownerOf(String(iss))
    // The first one refuses an issuer that no auth has.
    const owner = named && able.includes(named) ? named : able[0]
    const principal = await owner?.authenticateTestUser?.(user, request, serverInfo, incoming)
    if (!owner) throw new McpError('unauthorized', 'No auth of this endpoint accepts test users')
    return this.#admit(principal, owner, { ...incoming, request })
  }

  /** Lets the auth that admitted the caller decide. */
  async #authorize(incoming: IncomingRequest, serverInfo: ServerInfo): Promise<McpError | undefined> {
    const { request, principal } = incoming
    const owner = this.#admittedBy.get(request)
    const error = await owner?.authorize?.(incoming, serverInfo)
    if (!error || principal) return error
    // An anonymous caller may get a credential of any kind.
    const others = this.#auths.filter((auth) => auth !== owner)
    return this.#withChallenges(error, others, request, serverInfo)
  }

  #handleRequest(request: Request, serverInfo: ServerInfo): Promise<Response> | undefined {
    const { pathname } = new URL(request.url)
    if (pathname.startsWith(protectedResource)) {
      const [first, ...others] = this.#auths.flatMap((auth) => auth.handleRequest?.(request, serverInfo) ?? [])
      return first && mergedMetadata(first, others)
    }
    // An authorization server of this origin precedes others, whose metadata an endpoint repeats for older clients.
    const byPages = [...this.#auths].sort((one, other) => Number(!one.routes) - Number(!other.routes))
    for (const auth of byPages) {
      const response = auth.handleRequest?.(request, serverInfo)
      if (response) return response
    }
    return undefined
  }

  /** @throws Error without a principal, and for one whose issuer belongs to another auth */
  #admit(principal: Principal | undefined, auth: Auth, incoming: IncomingRequest): Principal {
    const checked = checkPrincipal(principal)
    if (checked && this.#ownerOf(checked.issuer) === auth) {
      this.#admittedBy.set(incoming.request, auth)
      return checked
    }
    incoming.principal = undefined
    throw new Error(
      checked
        ? `An auth of oneOf() returned a principal of the issuer "${checked.issuer}", which is not among its issuers, or belongs to another auth`
        : 'An auth of oneOf() returned no principal for a credential that is described in its credentials',
    )
  }

  /** Returns the auth whose principals have an issuer. */
  #ownerOf(issuer: string): Auth | undefined {
    return this.#auths.find(({ issuers }) => issuers?.includes(issuer)) ?? this.#auths.find(({ issuers }) => !issuers)
  }

  /** Lets a plugin of an auth read upstream tokens for the principals of this auth only: others may have the same subjects. */
  #forOwnPrincipals(plugin: AnyPlugin, auth: Auth): AnyPlugin {
    const { context } = plugin
    if (!context) return plugin
    return {
      ...plugin,
      context: (runtime) => {
        const members = context.call(plugin, runtime)
        const { upstream } = members
        if (!upstream) return members
        const isOwn = ({ principal }: Context) => !principal || this.#ownerOf(principal.issuer) === auth
        return { ...members, upstream: (ctx) => (isOwn(ctx) ? upstream(ctx) : refuseUpstream) }
      },
    }
  }

  /** Adds the challenges of auths for a request without a credential to an error with status 401. */
  async #withChallenges<E>(
    problem: E,
    auths: readonly Auth[],
    request: Request,
    serverInfo: ServerInfo,
  ): Promise<E | McpError> {
    if (!isUnauthorized(problem)) return problem
    const bare = new Request(request.url, { headers: this.#forms.withoutCredentials(request.headers) })
    const errors = auths.map(async (auth) => {
      try {
        checkCaller(auth, await auth.authenticate(bare, serverInfo, { request: bare, context: {} }))
        return undefined
      } catch (thrown) {
        return isUnauthorized(thrown) ? thrown : undefined
      }
    })
    return (await Promise.all(errors)).reduce<McpError>((all, error) => (error ? joined(all, error) : all), problem)
  }
}

const refuseUpstream: Context['upstream'] = async (provider) => {
  throw new McpError('forbidden', `${provider} needs a user who has signed in, not another credential`)
}

const isUnauthorized = (problem: unknown): problem is McpError =>
  problem instanceof McpError && problem.kind === 'unauthorized'

const invalidRequest = (message: string): McpError =>
  new McpError('invalid_request', message, undefined, {
    'WWW-Authenticate': challengeText({ error: 'invalid_request', description: message }),
  })

/** Adds the challenges of another error. RFC 9110, section 11.6.1. */
function joined(error: McpError, other: McpError): McpError {
  const challenges = [error, other].flatMap(({ headers }) => headers?.['WWW-Authenticate'] ?? [])
  const named = [...new Set(challenges)].filter((challenge) => challenge !== 'Bearer')
  const text = named.length > 0 ? named.join(', ') : challenges[0]
  const { kind, message, data, headers } = error
  return new McpError(kind, message, data, { ...headers, ...(text !== undefined && { 'WWW-Authenticate': text }) })
}

const storedOf = ({ storedClaims, reauthorize }: Auth): StoredPrincipals => ({
  storedClaims,
  ...(reauthorize && { reauthorize }),
})

/** @throws Error for two auths that may have principals of one issuer: sessions and states belong to principals */
function checkIssuers(auths: readonly Auth[]): void {
  if (auths.filter(({ issuers }) => !issuers).length > 1) {
    throw new Error(
      'Two auths of oneOf() may have principals of any issuer: set origin of signIn(), name the issuers of your own auth, or verify with one bearer({ verify })',
    )
  }
  const all = auths.flatMap(({ issuers = [] }) => [...new Set(issuers)])
  const twice = all.find((issuer, index) => all.indexOf(issuer) !== index)
  if (twice !== undefined) throw new Error(`Two auths of oneOf() have the issuer "${twice}": combine them in one auth`)
}
