/** Converts the token of a request into a principal: finds the issuer, verifies the token, and reads its claims. */

import { holdsScopes, type Principal, principalKey } from '../../protocol/principal.ts'
import { startOf } from '../../protocol/well-formed.ts'
import type { IncomingRequest, ServerInfo, TestUser } from '../../request-hooks.ts'
import { BadToken } from './bad-token.ts'
import type { BearerOptions } from './bearer-options.ts'
import { audiencesOf, checkTimes, expiryOf, principalOf, type ServiceTokens, type TokenClaims } from './claims.ts'
import { checkTokenPrefixes } from './introspection.ts'
import { issuerIn } from './token-form.ts'
import { type Verified, VerifiedTokens } from './verified-token-cache.ts'
import { type Expected, Issuer, unavailable } from './verify-jwt.ts'

/** Verifies the tokens of an authorization server in this Worker. */
export interface OwnVerifier {
  /** Returns the issuer of the tokens for this request. */
  issuer(request: Request): string
  /** All issuers, if they are known before a request. */
  readonly issuers?: readonly string[] | undefined
  /** `false`: it issues tokens for this endpoint only, so they need no audience. Default: they name the URL of the endpoint. */
  readonly audience?: false
  /** Returns the claims of a token; `undefined` for one that this issuer did not issue. @throws McpError `unavailable` */
  claims(token: string, request: Request, serverInfo: ServerInfo): Promise<TokenClaims | undefined>
  /**
   * Returns the claims that the credential of a stored principal has now; `undefined` for one that was revoked or has expired.
   *
   * @throws Error when its storage does not answer
   */
  current(principal: Principal): Promise<TokenClaims | undefined>
}

/** Milliseconds for which an open stream relies on a result of the option `verify`, which is not cached. */
const recheckAfterMs = 60_000

export class TokenVerifier {
  readonly issuers: readonly Issuer[]
  readonly #options: BearerOptions & ServiceTokens
  readonly #clockTolerance: number
  readonly #verified: VerifiedTokens
  readonly #own: OwnVerifier | undefined

  /** @throws Error with one sentence that names the fix */
  constructor(options: BearerOptions & ServiceTokens, own?: OwnVerifier) {
    this.#own = own
    const { verify, clockTolerance = 30, tokenCacheMs = 60_000 } = options
    this.issuers = issuersOf(options)
    if (this.issuers.length === 0 && !verify && !own) {
      throw new Error("bearer() needs an issuer: bearer({ issuer: 'https://auth.example.com' })")
    }
    if (verify && options.tokenCacheMs) {
      throw new Error(
        `bearer() has verify and tokenCacheMs: ${options.tokenCacheMs}. bearer() never caches results of verify, because they may depend on the request: remove tokenCacheMs, and cache in verify`,
      )
    }
    if (options.requireTenant && options.tenantClaim === undefined) {
      throw new Error(
        "bearer() has requireTenant, but no tenantClaim: name the claim of the tenant, as in tenantClaim: 'org_id'",
      )
    }
    this.#options = options
    this.#clockTolerance = clockTolerance
    this.#verified = new VerifiedTokens(tokenCacheMs)
  }

  /**
   * Returns the principal of a token and until when it is accepted, from the cache if the token was recently verified for these audiences.
   *
   * @param audiences the names of this server, as tokens state them
   * @throws BadToken; McpError `unavailable` when the issuer does not respond
   */
  async principal(
    token: string,
    audiences: readonly string[],
    request: Request,
    serverInfo: ServerInfo,
  ): Promise<Required<Pick<IncomingRequest, 'credential'>> & { readonly principal: Principal }> {
    const verified = await this.#verify(token, audiences, request, serverInfo)
    const { principal, expiresAt, tokenExpires, isRevocable } = verified
    const verify = async () => {
      const again = await this.principal(token, audiences, request, serverInfo)
      if (principalKey(again.principal) === principalKey(principal)) {
        if (holdsScopes(again.principal.scopes, principal.scopes)) return again.credential
      }
      throw new BadToken('The token is not valid for this resource')
    }
    return {
      principal,
      credential: { expires: tokenExpires, ...(isRevocable && { recheck: { at: expiresAt, verify } }) },
    }
  }

  async #verify(
    token: string,
    audiences: readonly string[],
    request: Request,
    serverInfo: ServerInfo,
  ): Promise<Verified> {
    const { verify } = this.#options
    const names = this.#endpointNames(audiences, request, serverInfo)
    // What `verify` decided may depend on anything of the request.
    const cached = verify ? undefined : this.#verified.get(token, names)
    if (cached) return cached
    const claims = verify
      ? await this.#verifyByOption(verify, token, request)
      : this.#own
        ? await this.#verifyByOwn(this.#own, token, audiences, request, serverInfo)
        : await this.#verifyByIssuer(token, audiences, request, serverInfo)
    const principal = principalOf(claims, this.#options)
    audiencesOf(claims)
    const tokenExpires = expiryOf(claims, this.#own ? 0 : this.#clockTolerance)
    if (verify) return { principal, tokenExpires, isRevocable: true, expiresAt: Date.now() + recheckAfterMs }
    const isRevocable = this.#own !== undefined || issuerIn(token) === undefined
    return this.#verified.add(token, names, { principal, tokenExpires, isRevocable })
  }

  /** Returns a stored principal as it is now, with no other scopes than it had. @throws Error when the storage does not answer */
  async current(stored: Principal): Promise<Principal | undefined> {
    const claims = await this.#own?.current(stored)
    if (!claims) return undefined
    const principal = principalOf(claims, this.#options)
    return { ...principal, scopes: principal.scopes.filter((scope) => stored.scopes.includes(scope)) }
  }

  /** Returns all of an endpoint that a verification depends on. Verifiers in this Worker have tokens for each identity and issuer. */
  #endpointNames(audiences: readonly string[], request: Request, { identity }: ServerInfo): readonly string[] {
    return this.#own ? [identity, this.#own.issuer(request), ...audiences] : audiences
  }

  /** Returns the principal of a token with the claims of a test user. @throws BadToken for claims that no token of the issuers has */
  testPrincipal(user: TestUser, request: Request): Principal {
    const claims = this.#claimsOfTestUser(user, request)
    audiencesOf(claims)
    checkTimes(claims, this.#clockTolerance, Date.now())
    return principalOf(claims, this.#options)
  }

  #claimsOfTestUser({ claims, tenant }: TestUser, request: Request): TokenClaims {
    const { verify, tenantClaim, subjectClaim = 'sub' } = this.#options
    const { iss = this.#own?.issuer(request) ?? this.issuers[0]?.name ?? new URL(request.url).origin } = claims
    if (!verify && !this.#own && !this.issuers.some(({ name }) => name === iss)) {
      throw untrustedIssuer(iss, this.issuers)
    }
    if (tenant !== undefined && tenantClaim === undefined) {
      throw new BadToken(
        `The test user has the tenant "${tenant}", but bearer() has no tenantClaim: leave the tenant empty, or name the claim, as in bearer({ tenantClaim: 'org_id' })`,
      )
    }
    return {
      ...claims,
      iss,
      [subjectClaim]: claims.sub,
      ...(tenantClaim !== undefined && tenant !== undefined && { [tenantClaim]: tenant }),
    }
  }

  async #verifyByOption(
    verify: NonNullable<BearerOptions['verify']>,
    token: string,
    request: Request,
  ): Promise<TokenClaims> {
    const claims = await verify(token, request)
    if (!claims) throw new BadToken('The token is not valid for this resource')
    checkTimes(claims, this.#clockTolerance, Date.now())
    return claims
  }

  async #verifyByOwn(
    own: OwnVerifier,
    token: string,
    audience: readonly string[],
    request: Request,
    serverInfo: ServerInfo,
  ): Promise<TokenClaims> {
    const claims = await own.claims(token, request, serverInfo)
    if (!claims) throw new BadToken('The token is not valid for this resource')
    checkTimes(claims, 0, Date.now())
    if (own.audience === false || audiencesOf(claims).some((text) => audience.includes(text))) return claims
    throw new BadToken(`The token is for a different audience: this server accepts ${audience[0]}`)
  }

  async #verifyByIssuer(
    token: string,
    audience: readonly string[],
    request: Request,
    serverInfo: ServerInfo,
  ): Promise<TokenClaims> {
    const expected = { audience, clockTolerance: this.#clockTolerance }
    const from = issuerIn(token)
    if (from === undefined) return this.#introspect(token, expected, request, serverInfo)
    const issuer = this.issuers.find(({ name }) => name === from.iss)
    if (!issuer) throw untrustedIssuer(from.iss, this.issuers)
    if (!isSpelledOnce(token)) throw new BadToken('The token is malformed')
    return issuer.verify(token, expected, serverInfo)
  }

  async #introspect(token: string, expected: Expected, request: Request, serverInfo: ServerInfo): Promise<TokenClaims> {
    const issuer = this.issuers.find((candidate) => candidate.introspection?.covers(token))
    if (!issuer) throw new BadToken('The token is not valid for this resource')
    const claims = await introspectedBy(issuer, token, request, serverInfo)
    if (!claims) throw new BadToken('The token is not valid for this resource')
    const { iss = issuer.name } = claims
    const audience = issuer.audience(expected)
    if (iss !== issuer.name) throw untrustedIssuer(iss, [issuer])
    checkTimes(claims, expected.clockTolerance, Date.now())
    if (audience && !audiencesOf(claims).some((text) => audience.includes(text))) {
      throw new BadToken(`The token is for a different audience: this server accepts ${audience[0]}`)
    }
    return { ...claims, iss }
  }
}

/** @throws McpError `unavailable` when the issuer gives no answer */
async function introspectedBy(
  issuer: Issuer,
  token: string,
  request: Request,
  serverInfo: ServerInfo,
): Promise<TokenClaims | undefined> {
  try {
    return await issuer.introspection?.ask(token, await issuer.introspectionUrl(serverInfo), request, serverInfo)
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
  const all = issuer === undefined ? [] : [issuer].flat()
  const each = all.map((one) => ({ ...common, ...(typeof one === 'string' ? { issuer: one } : one) }))
  checkTokenPrefixes(
    each.flatMap(({ issuer, introspection }) =>
      introspection ? [{ issuer, tokenPrefix: introspection.tokenPrefix }] : [],
    ),
  )
  return each.map((one) => new Issuer(one, fetch))
}

/** Names the issuer of a token, as the token spells it, and the accepted ones, which the metadata of the resource publishes. */
function untrustedIssuer(iss: unknown, issuers: readonly Issuer[]): BadToken {
  const found = startOf(String(JSON.stringify(iss)), 200)
  const accepted = issuers.slice(0, 5).map(({ name }) => name)
  return new BadToken(
    `This server does not trust the issuer of the token: iss is ${found}, and this server accepts tokens of ${accepted.join(' and ')}`,
  )
}

/**
 * Whether a token has its canonical base64url form. Another spelling of the same signature would be another key of the cache. The unused
 * bits of the last character must be zero. RFC 4648, section 3.5.
 */
const isSpelledOnce = (token: string): boolean => {
  const remaining = (token.length - token.lastIndexOf('.') - 1) % 4
  return (
    (remaining === 0 && !token.endsWith('=')) ||
    (remaining === 2 && /[AQgw]$/.test(token)) ||
    (remaining === 3 && /[AEIMQUYcgkosw048]$/.test(token))
  )
}
