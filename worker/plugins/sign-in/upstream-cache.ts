import { BoundedMap } from '../../protocol/bounded-map.ts'

/** Milliseconds for which a token of `ctx.upstream()` is valid at least. */
const minLifeMs = 60_000
/** Characters of an access token in the cache: longer ones do not fit into a header. */
const maxTokenCharacters = 16_384

/** Access tokens for APIs of providers in this isolate, by user and provider. What is revoked meanwhile is returned until an entry ends. */
export class UpstreamCache {
  readonly #entries = new BoundedMap<string, { readonly accessToken: string; readonly until: number }>({
    maxEntries: 1_000,
  })
  readonly #ttlMs: number

  /** @param ttlMs milliseconds; 0 caches nothing */
  constructor(ttlMs: number) {
    this.#ttlMs = ttlMs
  }

  get(key: string): string | undefined {
    const entry = this.#entries.get(key)
    return entry && entry.until > Date.now() ? entry.accessToken : undefined
  }

  /** @param expires milliseconds since 1970: when the token expires. `undefined`: it does not */
  set(key: string, accessToken: string, expires = Number.POSITIVE_INFINITY): void {
    const until = Math.min(Date.now() + this.#ttlMs, expires - minLifeMs)
    if (until > Date.now() && accessToken.length <= maxTokenCharacters) this.#entries.set(key, { accessToken, until })
    else this.#entries.delete(key)
  }

  delete(key: string): void {
    this.#entries.delete(key)
  }
}
