import { BoundedMap } from '../../protocol/bounded-map.ts'
import type { Principal } from '../../protocol/principal.ts'

type Verified = { readonly principal: Principal; readonly expiresAt: number }

/**
 * Caches recently verified tokens, so that a signature is not verified for every request. The key contains all that the decision depends
 * on: the token, and the audiences that the endpoint accepts.
 */
export class VerifiedTokens {
  readonly #entries: BoundedMap<string, Verified>
  readonly #ttlMs: number

  constructor(ttlMs: number, maxEntries = 1_000) {
    this.#entries = new BoundedMap({ maxEntries })
    this.#ttlMs = ttlMs
  }

  get(token: string, audiences: readonly string[]): Principal | undefined {
    const key = keyOf(token, audiences)
    const verified = this.#entries.get(key)
    if (!verified) return undefined
    if (verified.expiresAt > Date.now()) return verified.principal
    this.#entries.delete(key)
    return undefined
  }

  /** @param expiresAt milliseconds since 1970: when the token expires */
  add(token: string, audiences: readonly string[], principal: Principal, expiresAt: number): void {
    if (this.#ttlMs <= 0) return
    const entry = { principal, expiresAt: Math.min(expiresAt, Date.now() + this.#ttlMs) }
    this.#entries.set(keyOf(token, audiences), entry)
  }
}

const keyOf = (token: string, audiences: readonly string[]): string => JSON.stringify([token, ...audiences])
