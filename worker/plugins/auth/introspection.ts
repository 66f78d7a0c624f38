/**
 * Asking an authorization server what a token is worth that says nothing itself.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7662
 */

import { BoundedMap } from '../../protocol/bounded-map.ts'
import type { ServerInfo } from '../../request-hooks.ts'
import type { Claims } from './claims.ts'
import { type Fetch, fetchJson, Refused } from './fetch-json.ts'

export type IntrospectionOptions = {
  /** Left out, the metadata of the issuer says where. */
  url?: string
  /** What this server is registered as. */
  clientId: string
  clientSecret: string
  /**
   * How opaque tokens of this issuer start, such as `gho_`: no other token is sent to it. Needed when several issuers of a
   * server have introspection. Default: the issuer is asked about every opaque token.
   */
  tokenPrefix?: string
}

/** Milliseconds for which a server that did not answer is not asked again. */
const retryAfterMs = 1_000
/** Milliseconds for which a token that was worth nothing is not asked about again. */
const worthlessFor = 5_000
/** Tokens that are remembered to be worth nothing. */
const mostRemembered = 1_000
/** Characters of one of them. */
const longestRemembered = 1_000

/** How a server answers to what it cannot read as a token. */
const malformedTokenStatuses = new Set([400, 413, 414, 422])

export class Introspection {
  readonly #options: IntrospectionOptions
  readonly #fetch: Fetch
  /** Tokens that are being asked about: many requests with one token are one question. */
  readonly #asking = new Map<string, Promise<Claims | undefined>>()
  /** Tokens that are worth nothing, and when that was. */
  readonly #inactiveTokens = new BoundedMap<string, number>({ maxEntries: mostRemembered })
  #failure: { at: number; problem: unknown } | undefined

  constructor(options: IntrospectionOptions, fetch: Fetch) {
    this.#options = options
    this.#fetch = fetch
  }

  /** Can this opaque token be of the issuer? */
  covers(token: string): boolean {
    return token.startsWith(this.#options.tokenPrefix ?? '')
  }

  /**
   * @returns what the token stands for; `undefined`: nothing
   * @throws Error when there is no answer
   */
  async ask(token: string, url: string, serverInfo: ServerInfo): Promise<Claims | undefined> {
    const refusedUntil = this.#inactiveTokens.get(token)
    if (refusedUntil !== undefined && Date.now() - refusedUntil < worthlessFor) return undefined
    const cached = this.#asking.get(token)
    if (cached) return cached
    if (this.#failure && Date.now() - this.#failure.at < retryAfterMs) throw this.#failure.problem
    const asking = this.#ask(token, url).finally(() => this.#asking.delete(token))
    this.#asking.set(token, asking)
    // Others wait for it, even when whoever asked first has gone.
    serverInfo.waitUntil(asking.catch(() => {}))
    return asking
  }

  async #ask(token: string, url: string): Promise<Claims | undefined> {
    const { clientId, clientSecret } = this.#options
    try {
      const claims: Claims = await fetchJson(this.#fetch, url, {
        method: 'POST',
        // Form encoding first: RFC 6749, section 2.3.1.
        headers: { Authorization: `Basic ${btoa([clientId, clientSecret].map(encodeURIComponent).join(':'))}` },
        body: new URLSearchParams({ token, token_type_hint: 'access_token' }),
      })
      this.#failure = undefined
      if (claims.active === true && isForAccess(claims)) return claims
    } catch (problem) {
      // That is about this token, and must not close the door to the others.
      if (!(problem instanceof Refused && malformedTokenStatuses.has(problem.status))) {
        this.#failure = { at: Date.now(), problem }
        throw problem
      }
    }
    // What anybody makes up must not fill the memory.
    if (token.length <= longestRemembered) this.#inactiveTokens.set(token, Date.now())
    return undefined
  }
}

/** Others are active as well: a token to refresh with is not one to call with. A type that is no string is not understood. */
const isForAccess = ({ token_type = '', typ = '' }: Claims): boolean =>
  [token_type, typ].every((kind) => typeof kind === 'string' && !/^(?:refresh|id)(?:[_ ]?token)?$/i.test(kind))

type Introspecting = { readonly issuer: string; readonly tokenPrefix: string | undefined }

/**
 * Checks that each opaque token is sent to one issuer at most: an issuer that saw another one's tokens could use them.
 *
 * @throws Error when a prefix is missing, empty, or the start of another one
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
        `The introspection of ${issuer} needs a tokenPrefix, because several issuers have introspection and none may see the tokens of another. Write how its tokens start, or give each issuer an endpoint with a bearer() of its own`,
      )
    }
    const overlapping = issuers.find((other, at) => at !== index && other.tokenPrefix?.startsWith(tokenPrefix))
    if (!overlapping) continue
    throw new Error(
      `The tokenPrefix "${tokenPrefix}" of ${issuer} fits tokens of ${overlapping.issuer}, too: choose prefixes of which none is the start of another`,
    )
  }
}
