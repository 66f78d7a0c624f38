/**
 * An OAuth 2.1 resource server for MCP: which tokens it accepts, which scopes its calls require, and its metadata.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization
 * @see https://www.rfc-editor.org/rfc/rfc6750 bearer tokens
 * @see https://www.rfc-editor.org/rfc/rfc9068 JWT access tokens
 * @see https://www.rfc-editor.org/rfc/rfc9728 protected resource metadata
 */
import { checkOptions } from '../../declarations/check-options.ts'
import type { Declarations } from '../../declarations/declarations.ts'
import type { Server } from '../../declarations/server.ts'
import type { StoredPrincipals } from '../../declarations/stored-principal.ts'
import { insufficientScope as lacksScope } from '../../engine/required-scopes.ts'
import type { Auth } from '../../plugin.ts'
import { McpError } from '../../protocol/errors.ts'
import { holdsScopes, type Principal } from '../../protocol/principal.ts'
import type { CredentialForm, IncomingRequest, ServerInfo, TestUser } from '../../request-hooks.ts'
import { BadToken } from './bad-token.ts'
import { type BearerOptions, bearerKinds } from './bearer-options.ts'
import {
  challengeError,
  insufficientScope,
  metadataUrlFor,
  missingScopes,
  type Refusal,
  type Scheme,
} from './challenge-error.ts'
import { foreignIssuer, missingTenantClaim, type ServiceTokens, tokenScopes } from './claims.ts'
import { countDeclared, declaredScopes, findUnscoped } from './declared-scopes.ts'
import { Dpop, type Presented } from './dpop.ts'
import { BadProof, readProof } from './dpop-proof.ts'
import { authorizationServerMetadata, endpointPath, resourceMetadata, resourceOf, writtenAs } from './metadata.ts'
import { bearerToken, type Found } from './request-token.ts'
import { type OwnVerifier, TokenVerifier } from './token-to-principal.ts'

/** How a request carries its credential. Gateways use headers of their own. */
export type Carrier = {
  token(request: Request): Found
  /** Names of the headers that carry it, besides `Authorization`. */
  credentialHeaders?: readonly string[]
  /** The message for a request without a credential. Default: one that names a bearer token. */
  required?: string
  /** Whether the server publishes its metadata, so that clients can get a token. */
  isDescribed: boolean
  /** Origin under which clients know the server, whatever the URL of a request is. Default: that of the URL. */
  origin?: string | undefined
  /** Verifies tokens, in the place of issuers. Their audience and times are checked afterwards. */
  verifier?: OwnVerifier
  /**
   * Whether tokens are issued for the URL of an endpoint with a slash at its end, too. Clients compare `resource` of the metadata with the URL
   * that their user entered: RFC 9728, section 3.3.
   */
  acceptsSlash?: boolean
  /** The credentials of the verifier, or those in a header. Default: the tokens of the issuers. */
  credentials?: readonly CredentialForm[]
}

/**
 * Creates the auth of an OAuth 2.1 resource server: verifies bearer tokens, checks scopes, and serves the metadata that leads clients to
 * the authorization server.
 *
 * @throws Error for an invalid option. The message names the fix
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization
 * @see https://www.rfc-editor.org/rfc/rfc6750
 * @see https://www.rfc-editor.org/rfc/rfc9068
 * @see https://www.rfc-editor.org/rfc/rfc9728
 *
 * @example
 * serve(server, { auth: bearer({ issuer: 'https://auth.example.com' }) })
 */
export function bearer(options: BearerOptions): Auth {
  checkOptions('bearer()', options, bearerKinds)
  return resourceServer(options, { token: bearerToken, isDescribed: true })
}

/** @throws Error with one sentence that names the fix */
export function resourceServer(options: BearerOptions & ServiceTokens, carrier: Carrier): Auth {
  const server = new ResourceServer(options, carrier)
  const { tenantClaim, allowAnonymous, storedClaims } = options
  const { reauthorize } = server
  return {
    tenantClaim,
    allowAnonymous,
    credentialHeaders: carrier.credentialHeaders,
    credentials: carrier.credentials ?? server.tokenForms(),
    get issuers() {
      return server.issuers()
    },
    validate: server.validate.bind(server),
    authenticate: server.authenticate.bind(server),
    authenticateTestUser: server.authenticateTestUser.bind(server),
    authorize: server.authorize.bind(server),
    storedClaims,
    ...(reauthorize && { reauthorize }),
    admit: server.admit.bind(server),
    ...(carrier.isDescribed && { handleRequest: server.handleRequest.bind(server) }),
  }
}

class ResourceServer {
  readonly #options: BearerOptions
  readonly #carrier: Carrier
  readonly #requiredScopes: readonly string[]
  readonly #verifier: TokenVerifier
  /** `undefined`: tokens that are bound to a key are refused. */
  readonly #dpop: Dpop | undefined
  /** Number of entries of each server when all of them had scopes. */
  readonly #scopedEntries = new WeakMap<Declarations, number>()

  /** @throws Error with one sentence that names the fix */
  constructor(options: BearerOptions & ServiceTokens, carrier: Carrier) {
    this.#verifier = new TokenVerifier(options, carrier.verifier)
    if (options.resource !== undefined && !URL.canParse(options.resource)) {
      throw new Error(`The resource "${options.resource}" must be an absolute URL: write "https://mcp.example.com/mcp"`)
    }
    this.#options = options
    this.#dpop = options.dpop === false ? undefined : new Dpop(options.dpop)
    this.#carrier = carrier
    this.#requiredScopes = options.requiredScopes ?? []
  }

  /** Returns the forms of the tokens that the issuers verify. */
  tokenForms(): readonly CredentialForm[] {
    if (this.#options.verify) return [{ tokens: 'any' }]
    return this.#verifier.issuers.flatMap(({ name, introspection }): CredentialForm[] => [
      { issuer: name },
      ...(introspection ? [introspection.form] : []),
    ])
  }

  /** Returns the issuers of the principals; `undefined` if they are not known before a request. */
  issuers(): readonly string[] | undefined {
    if (this.#options.verify) return undefined
    return this.#carrier.verifier ? this.#carrier.verifier.issuers : this.#verifier.issuers.map(({ name }) => name)
  }

  /** @throws Error for an entry without scopes, with `requireScopesEverywhere` */
  validate(server: Server): void {
    if (!this.#options.requireScopesEverywhere) return
    const count = countDeclared(server)
    // What is declared after serve() was called is looked at with the next request.
    if (this.#scopedEntries.get(server.declarations) === count) return
    const open = findUnscoped(server)
    if (open.length === 0) {
      this.#scopedEntries.set(server.declarations, count)
      return
    }
    throw new Error(
      `These entries have no scopes: ${open.join(', ')}. Give each its scopes, or scopes: [] for every caller that auth accepts`,
    )
  }

  /** @throws McpError see `Auth` */
  async authenticate(
    request: Request,
    serverInfo: ServerInfo,
    incoming: IncomingRequest,
  ): Promise<Principal | undefined> {
    this.validate(serverInfo.server)
    const found = this.#carrier.token(request)
    // Without DPoP, its scheme is one that this server does not take.
    const match = found?.scheme === 'DPoP' && !this.#dpop ? undefined : found
    if (!match) {
      if (this.#options.allowAnonymous && !found) return undefined
      const message = this.#dpop?.isRequired
        ? 'Authorization is required: send a token with DPoP'
        : (this.#carrier.required ?? 'Authorization is required: send a bearer token')
      const challenge = { scopes: this.#scopesToRequest(serverInfo) }
      const schemes = schemesOf(this.#dpop)
      throw this.#challengeError({ kind: 'unauthorized', message, challenge, schemes }, request, serverInfo)
    }
    if ('malformed' in match) {
      const { malformed: message, scheme } = match
      const challenge = { error: 'invalid_request', description: message } as const
      const schemes = schemesOf(this.#dpop, scheme)
      throw this.#challengeError({ kind: 'invalid_request', message, challenge, schemes }, request, serverInfo)
    }
    const { token, scheme } = match
    const audiences = this.#audiencesFor(request, serverInfo)
    let isBound = scheme === 'DPoP'
    try {
      // A request without a proof is refused before the issuer is asked about its token.
      const proof = scheme === 'DPoP' ? readProof(request) : undefined
      const { principal, credential } = await this.#verifier.principal(token, audiences, request, serverInfo)
      isBound ||= principal.claims.cnf !== undefined
      await this.#verifyPossession(principal, { token, scheme, proof }, request, serverInfo, incoming)
      incoming.credential = credential
      return this.#admit(principal, request, serverInfo, incoming)
    } catch (problem) {
      throw this.#refused(problem, schemesOf(this.#dpop, scheme, isBound), request, serverInfo)
    }
  }

  /** @throws BadToken for a token that is bound to a key, unless the request proves possession of the key; BadProof; McpError */
  async #verifyPossession(
    { claims }: Principal,
    presented: Presented,
    request: Request,
    serverInfo: ServerInfo,
    incoming: IncomingRequest,
  ): Promise<void> {
    if (this.#dpop) return this.#dpop.verify(claims, presented, this.#urlsOf(request, serverInfo), serverInfo, incoming)
    if (claims.cnf === undefined) return
    throw new BadToken('Tokens that are bound to a key (DPoP or mutual TLS) are not supported')
  }

  /** Returns the URLs by which the client may have sent the request: the host and the path are those of `resource`, if it is set. */
  #urlsOf({ url }: Request, serverInfo: ServerInfo): readonly string[] {
    const { paths } = serverInfo
    const resource = this.#resourceOf(serverInfo)
    if (resource === undefined) return [url]
    const { pathname } = new URL(url)
    const own = new URL(resource)
    own.pathname = pathname
    return endpointPath(pathname, paths) === paths.mcp ? [resource, own.href] : [own.href]
  }

  /** Returns the error for the client, for a problem with its credential. Other errors are returned as they are. */
  #refused(problem: unknown, schemes: readonly Scheme[], request: Request, serverInfo: ServerInfo): unknown {
    const isProof = problem instanceof BadProof
    if (!isProof && !(problem instanceof BadToken)) return problem
    const { message } = problem
    const error = isProof ? problem.code : 'invalid_token'
    const challenge = { error, description: message, scopes: this.#scopesToRequest(serverInfo) } as const
    const refused = this.#challengeError({ kind: 'unauthorized', message, challenge, schemes }, request, serverInfo)
    if (!isProof || problem.nonce === undefined) return refused
    return new McpError('unauthorized', message, undefined, { ...refused.headers, 'DPoP-Nonce': problem.nonce })
  }

  /** @throws McpError as `authenticate` does */
  async authenticateTestUser(
    user: TestUser,
    request: Request,
    serverInfo: ServerInfo,
    incoming: IncomingRequest,
  ): Promise<Principal> {
    this.validate(serverInfo.server)
    try {
      const principal = this.#verifier.testPrincipal(user, request)
      return this.#admit(principal, request, serverInfo, incoming)
    } catch (problem) {
      throw this.#refused(problem, schemesOf(this.#dpop), request, serverInfo)
    }
  }

  /** @returns the error, if the principal lacks scopes of the messages */
  async authorize(incoming: IncomingRequest, serverInfo: ServerInfo): Promise<McpError | undefined> {
    const scopes = await missingScopes(incoming, serverInfo)
    return scopes.length > 0 ? this.#scopeError(scopes, incoming.principal, incoming.request, serverInfo) : undefined
  }

  /** Answers a request for the metadata of this server or of its issuer; `undefined` for any other request. */
  handleRequest(request: Request, serverInfo: ServerInfo): Promise<Response> | undefined {
    if (!request.url.includes('/.well-known/oauth-')) return undefined
    const { resourceName, resourceDocumentation } = this.#options
    const { issuers } = this.#verifier
    return (
      resourceMetadata(request, serverInfo, {
        resource: this.#resourceOf(serverInfo),
        name: resourceName,
        documentation: resourceDocumentation,
        issuers: this.#carrier.verifier ? [this.#carrier.verifier.issuer(request)] : issuers.map(({ name }) => name),
        scopes: this.#scopesToRequest(serverInfo),
        acceptsSlash: this.#carrier.acceptsSlash === true,
        dpop: this.#dpop?.isOffered ? this.#dpop : undefined,
      }) ?? authorizationServerMetadata(request, serverInfo, issuers[0])
    )
  }

  /** Returns what decides about stored principals: the storage of the verifier, then the option. `undefined` without both. */
  get reauthorize(): StoredPrincipals['reauthorize'] {
    const { reauthorize } = this.#options
    const verifier = this.#verifier
    if (!this.#carrier.verifier && !reauthorize) return undefined
    return async (stored, call) => {
      const held = this.#carrier.verifier ? await verifier.current(stored) : stored
      const decided = held && (reauthorize ? await reauthorize(held, call) : held)
      if (!decided || !this.#carrier.verifier) return decided
      return { ...decided, scopes: decided.scopes.filter((scope) => held.scopes.includes(scope)) }
    }
  }

  /** Whether a principal has an issuer of this auth. One of any issuer may be, if the issuers are not known. */
  #isOwn({ issuer }: Principal): boolean {
    return this.issuers()?.includes(issuer) !== false
  }

  /** @throws McpError `forbidden` for another issuer and without a tenant; `insufficient_scope` */
  admit(principal: Principal): Principal {
    const { tenantClaim, requireTenant } = this.#options
    if (!this.#isOwn(principal)) throw foreignIssuer(principal)
    // `TokenVerifier` has checked that `requireTenant` has a claim.
    if (requireTenant && tenantClaim !== undefined && principal.tenant === undefined) {
      throw missingTenantClaim(tenantClaim, 'with a tenant')
    }
    if (holdsScopes(principal.scopes, this.#requiredScopes)) return principal
    throw lacksScope(this.#requiredScopes)
  }

  /** Returns the principal of a request if it has what every token needs. @throws McpError as `admit` does, with a challenge */
  #admit(principal: Principal, request: Request, serverInfo: ServerInfo, incoming: IncomingRequest): Principal {
    // Who was refused is known, too.
    incoming.principal = principal
    try {
      return this.admit(principal)
    } catch (problem) {
      if (!(problem instanceof McpError && problem.kind === 'insufficient_scope')) throw problem
      throw this.#scopeError(this.#requiredScopes, principal, request, serverInfo)
    }
  }

  #scopeError(
    scopes: readonly string[],
    principal: Principal | undefined,
    request: Request,
    serverInfo: ServerInfo,
  ): McpError {
    const held = principal ? (this.#options.getScopes ?? tokenScopes)(principal.claims) : []
    const refused = insufficientScope(scopes, held)
    const schemes = schemesOf(this.#dpop, principal?.claims.cnf === undefined ? undefined : 'DPoP')
    // An anonymous caller has no token to replace.
    return principal
      ? this.#challengeError({ ...refused, schemes }, request, serverInfo)
      : this.#challengeError({ ...refused, kind: 'unauthorized', challenge: { scopes }, schemes }, request, serverInfo)
  }

  #challengeError(refused: Refusal, request: Request, serverInfo: ServerInfo): McpError {
    const { isDescribed, acceptsSlash } = this.#carrier
    const challenged = { ...refused, algorithms: this.#dpop?.algorithms }
    if (!isDescribed) return challengeError(challenged, undefined)
    const url = metadataUrlFor(request, serverInfo, this.#resourceOf(serverInfo))
    return challengeError(challenged, acceptsSlash ? writtenAs(url, new URL(request.url).pathname) : url)
  }

  /** Returns the URL of the first endpoint, if it does not depend on the request. */
  #resourceOf({ paths }: ServerInfo): string | undefined {
    const { origin } = this.#carrier
    return origin === undefined ? this.#options.resource : new URL(paths.mcp, origin).href
  }

  /** Returns the scopes for the first request of a client that does not know this server. */
  #scopesToRequest(serverInfo: ServerInfo): readonly string[] {
    return this.#options.scopes ?? [...new Set([...this.#requiredScopes, ...declaredScopes(serverInfo.server)])]
  }

  /** Returns the names of the requested endpoint, as tokens state them. */
  #audiencesFor(request: Request, serverInfo: ServerInfo): readonly string[] {
    // Endpoints in one folder have the same URL for the older transport, so a token for it is accepted only there.
    const { mcp, sse } = serverInfo.paths
    const paths = endpointPath(new URL(request.url).pathname, serverInfo.paths) === mcp ? [mcp] : [mcp, sse]
    const names = paths.map((path) => resourceOf(request, serverInfo, this.#resourceOf(serverInfo), path))
    // The canonical name of an origin has no path.
    return [...new Set(names.flatMap((name) => (name.endsWith('/') ? [name, name.slice(0, -1)] : [name])))]
  }
}

/**
 * Returns the authentication schemes that a challenge names. The first has the error.
 *
 * @param used by the client
 * @param isBound whether the client has a token that is bound to a key
 */
function schemesOf(dpop: Dpop | undefined, used?: Scheme, isBound = false): readonly Scheme[] {
  if (!dpop) return ['Bearer']
  if (used === 'DPoP' || dpop.isRequired) return ['DPoP']
  return isBound || dpop.isOffered ? ['Bearer', 'DPoP'] : ['Bearer']
}
