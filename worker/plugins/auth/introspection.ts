/**
 * Token introspection: asks an authorization server about opaque tokens.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7662
 */

import { BoundedMap } from '../../protocol/bounded-map.ts'
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

/** Milliseconds after a failure in which the server is not asked. */
const retryAfterMs = 1_000
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
  #failure: { at: number; problem: unknown } | undefined

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
   * @returns the claims of the token; `undefined` for an inactive token
   * @throws Error without a response
   */
  async ask(token: string, url: string, serverInfo: ServerInfo): Promise<TokenClaims | undefined> {
    const refusedUntil = this.#inactiveTokens.get(token)
    if (refusedUntil !== undefined && Date.now() - refusedUntil < worthlessFor) return undefined
    const cached = this.#asking.get(token)
    if (cached) return cached
    if (this.#failure && Date.now() - this.#failure.at < retryAfterMs) throw this.#failure.problem
    const asking = this.#ask(token, url).finally(() => this.#asking.delete(token))
    this.#asking.set(token, asking)
    // Other requests wait for it, even if the first client disconnects.
    serverInfo.waitUntil(asking.catch(() => {}))
    return asking
  }

  async #ask(token: string, url: string): Promise<TokenClaims | undefined> {
    const { clientId, clientSecret } = this.#options
    try {
      const claims: TokenClaims = await fetchJson(this.#fetch, url, {
        method: 'POST',
        // Form encoding first: RFC 6749, section 2.3.1.
        headers: { Authorization: `Basic ${btoa([clientId, clientSecret].map(encodeURIComponent).join(':'))}` },
        body: new URLSearchParams({ token, token_type_hint: 'access_token' }),
      })
      this.#failure = undefined
      if (claims.active === true && isForAccess(claims)) return claims
    } catch (problem) {
      // The error concerns this token only: other tokens are still checked.
      if (!(problem instanceof Refused && malformedTokenStatuses.has(problem.status))) {
        this.#failure = { at: Date.now(), problem }
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
