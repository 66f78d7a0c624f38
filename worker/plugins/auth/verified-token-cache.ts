import { BoundedMap } from '../../protocol/bounded-map.ts'
import type { Principal } from '../../protocol/principal.ts'

export type Verified = {
  readonly principal: Principal
  /** Milliseconds since 1970 from which the token is verified again. */
  readonly expiresAt: number
  /** Milliseconds since 1970 from which the token is not accepted any more. */
  readonly tokenExpires: number
  /** Whether the token may be revoked before. */
  readonly isRevocable: boolean
}

/** Characters of a principal that is cached, as JSON. Those of JWTs are smaller. */
const maxCharacters = 32_768
/** Characters of all principals, after which the cache begins again: claims take up to twelve times as much memory. */
const maxAllCharacters = 2_000_000
/** Characters of all tokens. */
const maxTokenCharacters = 4_000_000

/** Of all auths of this isolate: each tenant may have one. */
let entries = new BoundedMap<string, Verified>({ maxEntries: 10_000, maxKeyCharacters: maxTokenCharacters })
/** Characters of the principals that were added to the map. */
let characters = 0
/** How many auths have a cache. */
let caches = 0

/**
 * Caches recently verified tokens, so that a signature is not verified for every request. The key contains all that the decision depends
 * on: the token, and the names of the endpoint, such as the audiences that it accepts.
 */
export class VerifiedTokens {
  readonly #cache = ++caches
  readonly #ttlMs: number

  constructor(ttlMs: number) {
    this.#ttlMs = ttlMs
  }

  get(token: string, names: readonly string[]): Verified | undefined {
    const key = this.#keyOf(token, names)
    const verified = entries.get(key)
    if (!verified) return undefined
    if (verified.expiresAt > Date.now()) return verified
    entries.delete(key)
    return undefined
  }

  add(token: string, names: readonly string[], verified: Omit<Verified, 'expiresAt'>): Verified {
    const entry = { ...verified, expiresAt: Math.min(verified.tokenExpires, Date.now() + this.#ttlMs) }
    const { length } = this.#ttlMs > 0 ? JSON.stringify(verified.principal) : ''
    if (length === 0 || length > maxCharacters) return entry
    characters += length
    if (characters > maxAllCharacters) {
      const { maxEntries } = entries
      entries = new BoundedMap({ maxEntries, maxKeyCharacters: maxTokenCharacters })
      characters = length
    }
    entries.set(this.#keyOf(token, names), entry)
    return entry
  }

  #keyOf(token: string, names: readonly string[]): string {
    return JSON.stringify([this.#cache, token, ...names])
  }
}
