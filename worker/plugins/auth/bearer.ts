/**
 * An OAuth 2.1 resource server for MCP: whose tokens are good here, what they allow, and where to get one.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization
 * @see https://www.rfc-editor.org/rfc/rfc6750 bearer tokens
 * @see https://www.rfc-editor.org/rfc/rfc9068 JWT access tokens
 * @see https://www.rfc-editor.org/rfc/rfc9728 protected resource metadata
 */
import { decodeJwt } from 'jose'
import { checkOptions, type KindsOf } from '../../declarations/check-options.ts'
import type { Declarations } from '../../declarations/declarations.ts'
import * as kind from '../../declarations/option-kinds.ts'
import type { Server } from '../../declarations/server.ts'
import type { StoredPrincipals } from '../../declarations/stored-principal.ts'
import type { McpError } from '../../protocol/errors.ts'
import { holdsScopes, type Principal } from '../../protocol/principal.ts'
import type { Auth, IncomingRequest, ServerInfo, TestUser } from '../../request-hooks.ts'
import { BadToken } from './bad-token.ts'
import { challengeError, insufficientScope, metadataUrlFor, missingScopes, type Refusal } from './challenge-error.ts'
import {
  audiencesOf,
  type ClaimOptions,
  type Claims,
  checkTimes,
  expiryOf,
  principalOf,
  tokenScopes,
} from './claims.ts'
import type { Fetch } from './fetch-json.ts'
import { checkTokenPrefixes, type IntrospectionOptions } from './introspection.ts'
import { Issuer, type IssuerOptions, unavailable } from './jwt-issuer.ts'
import { authorizationServerMetadata, resourceMetadata, resourceOf } from './metadata.ts'
import { bearerToken, type Found } from './request-token.ts'
import { countDeclared, declaredScopes, findUnscoped } from './scopes.ts'
import { VerifiedTokens } from './verified-token-cache.ts'

export type BearerOptions = ClaimOptions &
  StoredPrincipals &
  Omit<IssuerOptions, 'issuer'> & {
    /** The authorization servers whose tokens are good here. Options beside it are for those that have none of their own. */
    issuer?: string | IssuerOptions | readonly (string | IssuerOptions)[]
    /**
     * What a token is worth, instead of asking issuers: its claims, or `undefined` for nothing. Called for every request, because
     * the answer may depend on anything of it.
     */
    verify?(token: string, request: Request): Claims | undefined | Promise<Claims | undefined>
    /** This server's name in tokens, an absolute URL. Default: the URL of the endpoint, on the host that was asked. */
    resource?: string
    /** Scopes that a client should ask for first. Default: all that something of the server takes. */
    scopes?: readonly string[]
    /** Everything must say what it takes: the server does not start with a tool, resource or prompt without `scopes`. */
    requireScopesEverywhere?: boolean
    /** Scopes that every request takes. */
    requiredScopes?: readonly string[]
    /** Requests without a token are let in, as nobody: they may use what has no scopes. */
    allowAnonymous?: boolean
    /** Seconds that clocks may differ. Default 30. */
    clockTolerance?: number
    /**
     * Milliseconds for which a token that was good for an audience is not checked again. Default one minute; 0: never kept. Not
     * together with `verify`.
     */
    tokenCacheMs?: number
    /** Reaches the authorization server where a plain `fetch` does not, through a service binding for example. */
    fetch?: Fetch
    /** Told to people who are about to let a client in. */
    resourceName?: string
    resourceDocumentation?: string
  }

/** How a request carries its credential, for servers behind something that has seen to it. */
export type Carrier = {
  token(request: Request): Found
  /** Does this server describe itself, so that clients can go and get a token? */
  isDescribed: boolean
}

const issuerKinds: KindsOf<Omit<IssuerOptions, 'issuer'>> = {
  keys: [(value) => Object(value) === value || kind.string[0](value), 'a URL or a JSON Web Key Set'],
  audience: [
    (value) => value === false || kind.string[0](value) || kind.strings[0](value),
    'a string, a list of strings, or false',
  ],
  algorithms: kind.strings,
  introspection: kind.object({
    url: kind.string,
    clientId: kind.required(kind.string),
    clientSecret: kind.required(kind.string),
    tokenPrefix: kind.string,
  } satisfies KindsOf<IntrospectionOptions>),
}

export const storedKinds: KindsOf<StoredPrincipals> = { storedClaims: kind.strings, reauthorize: kind.fn }

export const bearerKinds: KindsOf<BearerOptions> = {
  issuer: [
    (value) => [value].flat().every((part) => Object(part) === part || kind.string[0](part)),
    'a URL, an object with issuer, or a list of them',
    { issuer: kind.required(kind.string), ...issuerKinds },
  ],
  ...issuerKinds,
  verify: kind.fn,
  resource: kind.string,
  scopes: kind.strings,
  requireScopesEverywhere: kind.flag,
  requiredScopes: kind.strings,
  allowAnonymous: kind.flag,
  clockTolerance: kind.amount,
  tokenCacheMs: kind.amount,
  fetch: kind.fn,
  resourceName: kind.string,
  resourceDocumentation: kind.string,
  tenantClaim: kind.string,
  getScopes: kind.fn,
  impliedScopes: [
    (value) => kind.object()[0](value) && Object.values(Object(value)).every(kind.strings[0]),
    'an object of lists of strings',
  ],
  ...storedKinds,
}

/**
 * @example
 * serve(server, { auth: bearer({ issuer: 'https://auth.example.com' }) })
 * @throws Error with one sentence that names the fix
 */
export function bearer(options: BearerOptions): Auth {
  checkOptions('bearer()', options, bearerKinds)
  return resourceServer(options, { token: bearerToken, isDescribed: true })
}

export function resourceServer(options: BearerOptions, carrier: Carrier): Auth {
  const { verify, requiredScopes = [], allowAnonymous = false, clockTolerance = 30, tokenCacheMs = 60_000 } = options
  const issuers = issuersOf(options)
  if (issuers.length === 0 && !verify) {
    throw new Error("bearer() needs an issuer: bearer({ issuer: 'https://auth.example.com' })")
  }
  if (options.resource !== undefined && !URL.canParse(options.resource)) {
    throw new Error(`The resource "${options.resource}" must be an absolute URL: write "https://mcp.example.com/mcp"`)
  }
  if (verify && options.tokenCacheMs) {
    throw new Error(
      `bearer() has verify and tokenCacheMs: ${options.tokenCacheMs}. Answers of verify are never kept, because they may depend on anything of the request: leave tokenCacheMs out, and keep them in verify`,
    )
  }
  const verified = new VerifiedTokens(tokenCacheMs)
  /** How much each server declared when all of it had scopes. */
  const scopedEntries = new WeakMap<Declarations, number>()

  const { storedClaims, reauthorize, tenantClaim } = options
  const stored = { storedClaims, ...(reauthorize && { reauthorize }) }
  return {
    tenantClaim,
    validate,
    authenticate,
    authenticateMadeUp,
    authorize,
    ...stored,
    ...(carrier.isDescribed && { handleMetadataRequest }),
  }

  /** @throws Error for a declaration without scopes, if the server is strict */
  function validate(server: Server): void {
    if (!options.requireScopesEverywhere) return
    const count = countDeclared(server)
    // What is declared after serve() was called is looked at with the next request.
    if (scopedEntries.get(server.registry) === count) return
    const open = findUnscoped(server)
    if (open.length === 0) {
      scopedEntries.set(server.registry, count)
      return
    }
    throw new Error(`Without scopes: ${open.join(', ')}. Give each some, or scopes: [] for every signed-in caller`)
  }

  async function authenticate(
    request: Request,
    serverInfo: ServerInfo,
    incoming: IncomingRequest,
  ): Promise<Principal | undefined> {
    validate(serverInfo.server)
    const match = carrier.token(request)
    if (!match) {
      if (allowAnonymous) return undefined
      throw refusal(
        {
          kind: 'unauthorized',
          message: 'Authorization is required: send a bearer token',
          challenge: { scopes: scopesOf(serverInfo) },
        },
        request,
        serverInfo,
      )
    }
    if ('malformed' in match) {
      const { malformed } = match
      throw refusal(
        {
          kind: 'invalid_request',
          message: malformed,
          challenge: { error: 'invalid_request', description: malformed },
        },
        request,
        serverInfo,
      )
    }
    const audiences = resourcesOf(request, serverInfo)
    const cached = verify ? undefined : verified.get(match.token, audiences)
    const principal = cached ?? (await verifiedPrincipal(match.token, audiences, request, serverInfo))
    return withRequiredScopes(principal, request, serverInfo, incoming)
  }

  /** @throws McpError `insufficient_scope` */
  function withRequiredScopes(
    principal: Principal,
    request: Request,
    serverInfo: ServerInfo,
    incoming: IncomingRequest,
  ): Principal {
    // Who was refused is known, too.
    incoming.principal = principal
    if (holdsScopes(principal.scopes, requiredScopes)) return principal
    throw refusedScopes(requiredScopes, principal, request, serverInfo)
  }

  async function authenticateMadeUp(
    user: TestUser,
    request: Request,
    serverInfo: ServerInfo,
    incoming: IncomingRequest,
  ): Promise<Principal> {
    validate(serverInfo.server)
    try {
      const claims = claimsOfMadeUp(user, request)
      audiencesOf(claims)
      checkTimes(claims, clockTolerance, Date.now())
      return withRequiredScopes(principalOf(claims, options), request, serverInfo, incoming)
    } catch (problem) {
      throw problem instanceof BadToken ? invalidToken(problem, request, serverInfo) : problem
    }
  }

  /** @throws BadToken for what no token of the issuers claims */
  function claimsOfMadeUp({ claims, tenant }: TestUser, { url }: Request): Claims {
    const { iss = issuers[0]?.name ?? new URL(url).origin } = claims
    if (!verify && !issuers.some(({ name }) => name === iss)) {
      throw new BadToken('The token is of an issuer that is not accepted here')
    }
    if (tenant !== undefined && options.tenantClaim === undefined) {
      throw new BadToken(
        `The made-up user has the tenant "${tenant}", and bearer() has no option tenantClaim, so no token names one: leave the tenant empty, or name its claim, as in bearer({ tenantClaim: 'org_id' })`,
      )
    }
    return {
      ...claims,
      iss,
      ...(options.tenantClaim !== undefined && tenant !== undefined && { [options.tenantClaim]: tenant }),
    }
  }

  async function verifiedPrincipal(
    token: string,
    audiences: readonly string[],
    request: Request,
    serverInfo: ServerInfo,
  ): Promise<Principal> {
    try {
      const claims = await claimsOf(token, audiences, request, serverInfo)
      const principal = principalOf(claims, options)
      audiencesOf(claims)
      const expiresAt = expiryOf(claims, clockTolerance)
      // What `verify` decided may depend on anything of the request.
      if (!verify) verified.add(token, audiences, principal, expiresAt)
      return principal
    } catch (problem) {
      throw problem instanceof BadToken ? invalidToken(problem, request, serverInfo) : problem
    }
  }

  function invalidToken({ message }: BadToken, request: Request, serverInfo: ServerInfo): McpError {
    const challenge = { error: 'invalid_token', description: message, scopes: scopesOf(serverInfo) } as const
    return refusal({ kind: 'unauthorized', message, challenge }, request, serverInfo)
  }

  async function claimsOf(
    token: string,
    audiences: readonly string[],
    request: Request,
    serverInfo: ServerInfo,
  ): Promise<Claims> {
    if (verify) {
      const claims = await verify(token, request)
      if (!claims) throw new BadToken('The token is not valid for this resource')
      checkTimes(claims, clockTolerance, Date.now())
      return claims
    }
    const expected = { audience: audiences, clockTolerance }
    const from = issuerIn(token)
    if (from === undefined) return introspected(token, expected, serverInfo)
    const issuer = issuers.find(({ name }) => name === from)
    if (!issuer) throw new BadToken('The token is of an issuer that is not accepted here')
    if (!isSpelledOnce(token)) throw new BadToken('The token is malformed')
    const claims = await issuer.verify(token, expected, serverInfo)
    // Whoever holds the token would have to show a key as well: RFC 9449, section 7.1, and RFC 8705.
    if (claims.cnf !== undefined) throw new BadToken('Tokens that are bound to a key are not accepted here')
    return claims
  }

  async function introspected(
    token: string,
    expected: { audience: readonly string[]; clockTolerance: number },
    serverInfo: ServerInfo,
  ) {
    const issuer = issuers.find((candidate) => candidate.introspection?.covers(token))
    if (!issuer) throw new BadToken('The token is not valid for this resource')
    const claims = await introspectedBy(issuer, token, serverInfo)
    if (!claims) throw new BadToken('The token is not valid for this resource')
    const { iss = issuer.name, cnf } = claims
    const audience = issuer.audience(expected)
    if (iss !== issuer.name) throw new BadToken('The token is of an issuer that is not accepted here')
    checkTimes(claims, clockTolerance, Date.now())
    if (cnf !== undefined) throw new BadToken('Tokens that are bound to a key are not accepted here')
    if (audience && !audiencesOf(claims).some((text) => audience.includes(text))) {
      throw new BadToken(`The token is for another audience than ${audience[0]}`)
    }
    return { ...claims, iss }
  }

  async function authorize(incoming: IncomingRequest, serverInfo: ServerInfo): Promise<McpError | undefined> {
    const scopes = await missingScopes(incoming, serverInfo)
    return scopes.length > 0 ? refusedScopes(scopes, incoming.principal, incoming.request, serverInfo) : undefined
  }

  function refusedScopes(
    scopes: readonly string[],
    principal: Principal | undefined,
    request: Request,
    serverInfo: ServerInfo,
  ): McpError {
    const held = principal ? (options.getScopes ?? tokenScopes)(principal.claims) : []
    const refused = insufficientScope(scopes, held)
    // Nobody has no token to replace.
    return principal
      ? refusal(refused, request, serverInfo)
      : refusal({ ...refused, kind: 'unauthorized', challenge: { scopes } }, request, serverInfo)
  }

  function refusal(refused: Refusal, request: Request, serverInfo: ServerInfo): McpError {
    return challengeError(
      refused,
      carrier.isDescribed ? metadataUrlFor(request, serverInfo, options.resource) : undefined,
    )
  }

  /** What a client should ask for that knows nothing yet. */
  function scopesOf(serverInfo: ServerInfo): readonly string[] {
    return options.scopes ?? [...new Set([...requiredScopes, ...declaredScopes(serverInfo.server)])]
  }

  function resourcesOf(request: Request, serverInfo: ServerInfo): readonly string[] {
    // Endpoints in one folder have the same URL for the older transport, so a token for it is accepted only there.
    const { mcp, sse } = serverInfo.paths
    const paths = new URL(request.url).pathname === mcp ? [mcp] : [mcp, sse]
    const names = paths.map((path) => resourceOf(request, serverInfo, options.resource, path))
    // The canonical name of an origin has no path.
    return [...new Set(names.flatMap((name) => (name.endsWith('/') ? [name, name.slice(0, -1)] : [name])))]
  }

  function handleMetadataRequest(request: Request, serverInfo: ServerInfo): Promise<Response> | undefined {
    if (!request.url.includes('/.well-known/oauth-')) return undefined
    const { resource, resourceName, resourceDocumentation } = options
    return (
      resourceMetadata(request, serverInfo, {
        resource,
        name: resourceName,
        documentation: resourceDocumentation,
        issuers: issuers.map((issuer) => issuer.name),
        scopes: scopesOf(serverInfo),
      }) ?? authorizationServerMetadata(request, serverInfo, issuers[0])
    )
  }
}

/** @throws McpError `unavailable` when the issuer gives no answer */
async function introspectedBy(issuer: Issuer, token: string, serverInfo: ServerInfo): Promise<Claims | undefined> {
  try {
    return await issuer.introspection?.ask(token, await issuer.introspectionUrl(serverInfo), serverInfo)
  } catch (problem) {
    serverInfo.report(problem)
    throw unavailable(problem)
  }
}

function issuersOf(options: BearerOptions): Issuer[] {
  const {
    issuer,
    keys,
    audience,
    algorithms,
    introspection,
    fetch = (url, init) => globalThis.fetch(url, init),
  } = options
  const common = {
    ...(keys !== undefined && { keys }),
    ...(audience !== undefined && { audience }),
    ...(algorithms && { algorithms }),
    ...(introspection && { introspection }),
  }
  // TypeScript cannot tell a list from an object that is one member of the union.
  const all = issuer === undefined ? [] : [issuer as string | IssuerOptions | (string | IssuerOptions)[]].flat()
  const each = all.map((one) => ({ ...common, ...(typeof one === 'string' ? { issuer: one } : one) }))
  checkTokenPrefixes(
    each.flatMap(({ issuer, introspection }) =>
      introspection ? [{ issuer, tokenPrefix: introspection.tokenPrefix }] : [],
    ),
  )
  return each.map((one) => new Issuer(one, fetch))
}

/** `iss`, before anything is known to be true; `undefined`: the token is no JWT. */
function issuerIn(token: string): string | undefined {
  if (token.split('.').length !== 3) return undefined
  try {
    const { iss } = decodeJwt(token)
    return typeof iss === 'string' ? iss : ''
  } catch {
    return undefined
  }
}

/**
 * One token, one text: a signature that is spelled in another way is another key to whatever remembers tokens. What its last
 * character says beyond whole bytes must be nothing. RFC 4648, section 3.5.
 */
const isSpelledOnce = (token: string): boolean => {
  const remaining = (token.length - token.lastIndexOf('.') - 1) % 4
  return (
    (remaining === 0 && !token.endsWith('=')) ||
    (remaining === 2 && /[AQgw]$/.test(token)) ||
    (remaining === 3 && /[AEIMQUYcgkosw048]$/.test(token))
  )
}
