import type { DocumentSeals } from '../../request-hooks.ts'
import type { Sealer } from '../../sealing/seal.ts'

/**
 * Stores documents of issuers in the cache of the data center, which all Workers of the zone can read and write. Each entry is sealed for
 * the identity of the server and the address of the entry, so an entry that another Worker wrote or moved counts as absent.
 */
export class DocumentCache {
  readonly #sealer: Sealer
  readonly #identity: string

  constructor({ sealer, identity }: DocumentSeals) {
    this.#sealer = sealer
    this.#identity = identity
  }

  /** @returns the value that `write` wrote under this name; `undefined` when it is absent, expired or not authentic */
  async read(name: string): Promise<unknown> {
    const url = this.#urlOf(name)
    const response = await edgeCache().match(url)
    return response && this.#sealer.open(purposeOf(url), undefined, await response.text())
  }

  /** @param ttlMs until the entry expires; the platform may evict it earlier */
  async write(name: string, value: unknown, ttlMs: number): Promise<void> {
    const url = this.#urlOf(name)
    const headers = { 'Cache-Control': `max-age=${Math.floor(ttlMs / 1000)}`, 'Content-Type': 'text/plain' }
    const sealed = await this.#sealer.seal(purposeOf(url), undefined, value, ttlMs)
    await edgeCache().put(url, new Response(sealed, { headers }))
  }

  #urlOf(name: string): string {
    return `https://edgemcp.invalid/documents/${encodeURIComponent(this.#identity)}/${name}`
  }
}

const purposeOf = (url: string): string => `cache ${url}`

// The types of the DOM, which has no `default`, and of Workers are both in scope.
const edgeCache = () => (caches as unknown as { default: Cache }).default
