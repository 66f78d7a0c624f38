/**
 * DPoP: tokens that are bound to a key of the client. Each request proves the possession of the key, so a stolen token is worthless.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9449
 */
import type { UsedProofsRpc } from '../../../durable-objects/store/rpc.ts'
import type { KindsOf } from '../../declarations/check-options.ts'
import { type Duration, milliseconds } from '../../declarations/duration.ts'
import * as kind from '../../declarations/option-kinds.ts'
import { encodeBase64url } from '../../protocol/base64url.ts'
import { BoundedMap } from '../../protocol/bounded-map.ts'
import { McpError, tooManyRequests } from '../../protocol/errors.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import type { IncomingRequest, ServerInfo } from '../../request-hooks.ts'
import { sha256 } from '../../sealing/sha256.ts'
import { BadToken } from './bad-token.ts'
import type { TokenClaims } from './claims.ts'
import { BadProof, type Proof, verifyProof } from './dpop-proof.ts'
import { type Algorithm, asymmetric } from './verify-jwt.ts'

/**
 * Configures the verification of DPoP proofs.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9449
 */
export type DpopOptions = {
  /** Refuses tokens that are not bound to a key. Default: false. */
  required?: boolean
  /**
   * Requires a nonce of this server in each proof, so that proofs cannot be made in advance. `true`: nonces are valid for 5 minutes; a
   * duration of at least 1 second sets another time. Default: false.
   *
   * @see https://www.rfc-editor.org/rfc/rfc9449#section-9
   */
  nonce?: boolean | Duration
  /** Accepted values of `alg` of proofs. Default: all asymmetric ones. */
  algorithms?: readonly Algorithm[]
  /** How far `iat` of a proof may be from the clock of the server, before and after it, at most 1 hour. Default: 5 minutes. */
  maxAge?: Duration
  /**
   * Where used proofs are remembered. `object`: in Durable Objects of the class `McpSession`, so that each proof is accepted once.
   * `isolate`: in the memory of each isolate, so that a proof is accepted once per isolate. Default: `object`.
   */
  replay?: 'object' | 'isolate'
}

const longestAgeMs = 60 * 60_000

const nonceKind: typeof kind.duration = [
  (value) => typeof value === 'boolean' || kind.durationMs(value) >= 1_000,
  'true, false, or a duration of at least 1s',
]

const dpopKinds: KindsOf<DpopOptions> = {
  required: kind.flag,
  nonce: nonceKind,
  algorithms: [
    (value) => kind.isListOf(value, (one) => asymmetric.some((name) => name === one)) && String(value) !== '',
    `a list of ${asymmetric.join(', ')}`,
  ],
  maxAge: [
    (value) => kind.positiveDuration[0](value) && kind.durationMs(value) <= longestAgeMs,
    'a duration of at most 1h, such as 5m',
  ],
  replay: [(value) => value === 'object' || value === 'isolate', "'object' or 'isolate'"],
}

export const dpopKind: typeof kind.duration = [
  (value) => typeof value === 'boolean' || value === 'required' || isObject(value),
  "true, false, 'required', or an object",
  dpopKinds,
]

/** The credential of a request. */
export type Presented = {
  readonly token: string
  readonly scheme: 'Bearer' | 'DPoP' | undefined
  readonly proof: string | undefined
}

/** Milliseconds of `iat` whose proofs are stored in one object. */
const windowMs = 10 * 60_000
/** Milliseconds after which an object is deleted whose proofs have all expired: the clocks of platforms differ a little. */
const graceMs = 60_000
/** Proofs that an isolate remembers, with `replay: 'isolate'`. */
const mostRemembered = 10_000
const noncePurpose = 'dpop nonce'

export class Dpop {
  readonly algorithms: readonly string[]
  /** Whether tokens must be bound to a key. */
  readonly isRequired: boolean
  /** Whether clients that have not used it are told of it. */
  readonly isOffered: boolean
  readonly #maxAgeMs: number
  /** `undefined`: proofs need no nonce. */
  readonly #nonceMs: number | undefined
  /** Expiry of each proof that was used in this isolate; `undefined`: objects store used proofs. */
  readonly #used: BoundedMap<string, number> | undefined

  /** @param option `undefined`: see `isOffered` */
  constructor(option: true | 'required' | DpopOptions | undefined) {
    const options: DpopOptions = isObject(option) ? option : { required: option === 'required' }
    const { required = false, nonce = false, algorithms = asymmetric, maxAge = '5m', replay } = options
    this.algorithms = algorithms
    this.isRequired = required
    this.isOffered = option !== undefined
    this.#maxAgeMs = milliseconds(maxAge, 'dpop.maxAge')
    this.#nonceMs = nonce === false ? undefined : milliseconds(nonce === true ? '5m' : nonce, 'dpop.nonce')
    this.#used = replay === 'isolate' ? new BoundedMap({ maxEntries: mostRemembered }) : undefined
  }

  /**
   * Verifies that the sender of a request has the key of its token, and that the proof was not used before.
   *
   * @param urls of the request
   * @throws BadToken; BadProof; McpError `unavailable` when used proofs or nonces cannot be checked, `too_many_requests`
   */
  async verify(
    claims: TokenClaims,
    { token, scheme, proof }: Presented,
    urls: readonly string[],
    serverInfo: ServerInfo,
    incoming: IncomingRequest,
  ): Promise<void> {
    const thumbprint = this.#boundKey(claims)
    if (thumbprint === undefined) {
      if (scheme === 'DPoP') throw new BadToken('The token is not bound to a key: send it as a bearer token')
      if (this.isRequired) throw new BadToken('This server accepts only tokens that are bound to a key (DPoP)')
      return
    }
    if (proof === undefined) {
      throw new BadToken(
        'The token is bound to a key: send "Authorization: DPoP" with it, and a proof in the header DPoP',
      )
    }
    const { method } = incoming.request
    const { algorithms } = this
    const expected = { thumbprint, token, method, urls, algorithms, maxAgeMs: this.#maxAgeMs }
    const verified = await verifyProof(proof, expected)
    if (this.#nonceMs !== undefined) await this.#checkNonce(verified, this.#nonceMs, serverInfo, incoming)
    if (!(await this.#isFirstUse(verified, thumbprint, serverInfo))) {
      throw new BadProof('The DPoP proof was used before: make a proof for each request')
    }
  }

  /** Returns the thumbprint of the key of a token; `undefined` for a token that is not bound. @throws BadToken */
  #boundKey({ cnf, token_type }: TokenClaims): string | undefined {
    const isTyped = typeof token_type === 'string' && token_type.toLowerCase() === 'dpop'
    if (cnf === undefined && !isTyped) return undefined
    if (isObject(cnf) && cnf['x5t#S256'] !== undefined)
      throw new BadToken('Tokens that are bound to a certificate (mutual TLS) are not supported')
    const jkt = isObject(cnf) ? cnf.jkt : undefined
    if (typeof jkt === 'string' && /^[\w-]{43}$/.test(jkt)) return jkt
    throw new BadToken('The claim cnf of the token must have jkt, the thumbprint of a key: RFC 9449, section 6')
  }

  /** @throws BadProof with a nonce for the next proof */
  async #checkNonce(
    { nonce }: Proof,
    lifetimeMs: number,
    serverInfo: ServerInfo,
    incoming: IncomingRequest,
  ): Promise<void> {
    const seals = serverInfo.seals(undefined)
    const newNonce = () => seals.createId(noncePurpose, lifetimeMs)
    await orUnavailable(serverInfo, async () => {
      const opened = typeof nonce === 'string' ? await seals.open(noncePurpose, nonce) : undefined
      if (!isObject(opened) || typeof opened.expires !== 'number') {
        throw new BadProof('The DPoP proof needs the nonce of the header DPoP-Nonce', await newNonce())
      }
      // The client continues without a refused request.
      if (opened.expires - Date.now() < lifetimeMs / 2) incoming.responseHeaders = { 'DPoP-Nonce': await newNonce() }
    })
  }

  async #isFirstUse({ jti, iat }: Proof, thumbprint: string, serverInfo: ServerInfo): Promise<boolean> {
    const id = encodeBase64url(await sha256(jti))
    if (this.#used) return this.#isFirstInIsolate(this.#used, `${thumbprint} ${id}`, iat * 1000 + this.#maxAgeMs)
    // A proof has one `iat`, so all uses of it ask the same object, which is deleted as a whole.
    const window = Math.floor((iat * 1000) / windowMs)
    const expires = (window + 1) * windowMs + longestAgeMs + graceMs
    const use = await orUnavailable(serverInfo, () =>
      serverInfo.object<UsedProofsRpc>('McpSession', `dpop ${thumbprint} ${window}`).useProof(id, expires),
    )
    if (use === 'full') {
      throw tooManyRequests('Too many requests with one DPoP key: try again later', windowMs / 1000, 'dpop')
    }
    return use === 'first'
  }

  #isFirstInIsolate(used: BoundedMap<string, number>, key: string, expires: number): boolean {
    if ((used.peek(key) ?? 0) >= Date.now()) return false
    used.set(key, expires)
    return true
  }
}

/** @throws McpError `unavailable` for a failure that the client did not cause. A proof that cannot be checked is refused */
async function orUnavailable<T>(serverInfo: ServerInfo, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (problem) {
    if (problem instanceof BadProof) throw problem
    serverInfo.report(problem)
    const message = 'The DPoP proof cannot be checked: try again later'
    throw new McpError('unavailable', message, undefined, { 'Retry-After': '5' })
  }
}
