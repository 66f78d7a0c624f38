/**
 * Token introspection: asks an authorization server about opaque tokens.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7662
 */

import { CircuitBreakers } from '../../client/circuit-breakers.ts'
import { BoundedMap } from '../../protocol/bounded-map.ts'
import { networkOf } from '../../protocol/ip-address.ts'
import { sha256 } from '../../protocol/sha256.ts'
import type { CredentialForm, ServerInfo } from '../../request-hooks.ts'
import type { TokenClaims } from './claims.ts'
import { type Fetch, fetchJson, Refused } from './fetch-json.ts'

/**
 * Configures the verification of opaque tokens by the introspection endpoint of an issuer.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7662
 */
export type IntrospectionOptions = {
  /** URL of the introspection endpoint. Default: `introspection_endpoint` of the issuer's metadata. */
  url?: string
  /** Client id of this server at the issuer. */
  clientId: string
  /** Client secret of this server at the issuer. */
  clientSecret: string
  /**
   * Start of the opaque tokens of this issuer, such as `gho_`: no other token is sent to the issuer. Required if several issuers have
   * introspection. Default: all opaque tokens are sent.
   */
  tokenPrefix?: string
}

/** Milliseconds after a failure in which the server is not asked about a token. */
const pauseMs = 1_000
/** Networks whose tokens must fail, without an answer in between, before the server is asked about no token. */
const maxFailedNetworks = 5
/** Milliseconds in which an inactive token is not checked again. */
const worthlessFor = 5_000
/** Inactive tokens in the cache. */
const mostRemembered = 1_000
/** Characters of an inactive token in the cache. */
const longestRemembered = 1_000

/** Statuses with which servers reject a text that they cannot parse as a token. */
const malformedTokenStatuses = new Set([400, 413, 414, 422])

export class Introspection {
  readonly #options: IntrospectionOptions
  readonly #fetch: Fetch
  /** Open introspections by token: requests with the same token share one. */
  readonly #asking = new Map<string, Promise<TokenClaims | undefined>>()
  /** Inactive tokens, and when they were checked. */
  readonly #inactiveTokens = new BoundedMap<string, number>({ maxEntries: mostRemembered })
  /** A token whose request fails stops no other one: it may be made to fail. */
  readonly #breakers = new CircuitBreakers({ failures: 1, pauseMs }, maxFailedNetworks)

  constructor(options: IntrospectionOptions, fetch: Fetch) {
    this.#options = options
    this.#fetch = fetch
  }

  /** The form of the tokens that it verifies. */
  get form(): CredentialForm {
    const { tokenPrefix } = this.#options
    return tokenPrefix === undefined ? { tokens: 'opaque' } : { prefix: tokenPrefix }
  }

  /** Whether an opaque token can be of this issuer. */
  covers(token: string): boolean {
    return token.startsWith(this.#options.tokenPrefix ?? '')
  }

  /**
   * @param request that has the token
   * @returns the claims of the token; `undefined` for an inactive token
   * @throws Error without a response
   */
  async ask(token: string, url: string, request: Request, serverInfo: ServerInfo): Promise<TokenClaims | undefined> {
    const refusedUntil = this.#inactiveTokens.get(token)
    if (refusedUntil !== undefined && Date.now() - refusedUntil < worthlessFor) return undefined
    const cached = this.#asking.get(token)
    if (cached) return cached
    const network = networkOf(request.headers.get('CF-Connecting-IP') ?? '')
    const asking = this.#ask(token, url, network).finally(() => this.#asking.delete(token))
    this.#asking.set(token, asking)
    // Other requests wait for it, even if the first client disconnects.
    serverInfo.waitUntil(asking.catch(() => {}))
    return asking
  }

  async #ask(token: string, url: string, network: string): Promise<TokenClaims | undefined> {
    const { clientId, clientSecret } = this.#options
    const key = sha256(token)
    if (this.#breakers.closedForMs(key, Date.now(), network) > 0) throw new Error(`${url} failed a moment ago`)
    this.#breakers.startAttempt(key, Date.now(), network)
    try {
      const claims: TokenClaims = await fetchJson(this.#fetch, url, {
        method: 'POST',
        // Form encoding first: RFC 6749, section 2.3.1.
        headers: { Authorization: `Basic ${btoa([clientId, clientSecret].map(encodeURIComponent).join(':'))}` },
        body: new URLSearchParams({ token, token_type_hint: 'access_token' }),
      })
      this.#breakers.succeed(key)
      if (claims.active === true && isForAccess(claims)) return claims
    } catch (problem) {
      // Any answer below 500 shows that the server is up.
      const isUp = problem instanceof Refused && problem.status < 500
      if (isUp) this.#breakers.succeed(key)
      if (!(isUp && malformedTokenStatuses.has(problem.status))) {
        if (!isUp) this.#breakers.fail(key, Date.now(), network)
        throw problem
      }
    }
    // Invented tokens must not fill the memory.
    if (token.length <= longestRemembered) this.#inactiveTokens.set(token, Date.now())
    return undefined
  }
}

/** Whether claims are of an access token. A refresh token can be active, too. A type that is not a string is rejected. */
const isForAccess = ({ token_type = '', typ = '' }: TokenClaims): boolean =>
  [token_type, typ].every((kind) => typeof kind === 'string' && !/^(?:refresh|id)(?:[_ ]?token)?$/i.test(kind))

type Introspecting = { readonly issuer: string; readonly tokenPrefix: string | undefined }

/**
 * Checks that each opaque token is sent to at most one issuer: an issuer that receives the token of another one could use it.
 *
 * @throws Error for a prefix that is missing, empty, or the start of another one
 */
export function checkTokenPrefixes(issuers: readonly Introspecting[]): void {
  for (const [index, { issuer, tokenPrefix }] of issuers.entries()) {
    if (tokenPrefix === '')
      throw new Error(
        `The tokenPrefix of ${issuer} must be a non-empty string: leave it out, or write how its tokens start`,
      )
    if (issuers.length === 1) continue
    if (tokenPrefix === undefined) {
      throw new Error(
        `The introspection of ${issuer} needs a tokenPrefix, because several issuers have introspection and must not receive each other's tokens. Write how its tokens start, or give each issuer its own endpoint with its own bearer()`,
      )
    }
    const overlapping = issuers.find((other, at) => at !== index && other.tokenPrefix?.startsWith(tokenPrefix))
    if (!overlapping) continue
    throw new Error(
      `The tokenPrefix "${tokenPrefix}" of ${issuer} overlaps with that of ${overlapping.issuer}: choose prefixes that do not start with each other`,
    )
  }
}
