import { BoundedMap } from '../../protocol/bounded-map.ts'
import { McpError } from '../../protocol/errors.ts'
import { networkOf } from '../../protocol/ip-address.ts'

/** Milliseconds for which an unknown key is not looked up again, and in which the unknown keys of a network are counted. */
const windowMs = 60_000
/** Unknown keys that a network may send within this time. */
const maxPerNetwork = 50

/** Bounds the lookups that a flood of unknown keys causes. Keys that this isolate has verified are not affected. */
export class UnknownKeys {
  /** The hashes of keys that were valid when this isolate last verified them. */
  readonly #valid = new BoundedMap<string, true>({ maxEntries: 1_000 })
  /** When each was looked up, by its hash. */
  readonly #keys = new BoundedMap<string, number>({ maxEntries: 1_000 })
  readonly #networks = new BoundedMap<string, { count: number; readonly since: number }>({ maxEntries: 1_000 })

  has(hash: string): boolean {
    const at = this.#keys.get(hash)
    return at !== undefined && Date.now() - at < windowMs
  }

  /** @throws McpError `too_many_requests` for a key that was never valid, of a network that has sent too many unknown keys */
  check(hash: string, request: Request): void {
    if (this.#valid.get(hash)) return
    const { count, since } = this.#networks.get(networkIn(request)) ?? { count: 0, since: 0 }
    const remainingMs = since + windowMs - Date.now()
    if (count < maxPerNetwork || remainingMs <= 0) return
    throw new McpError('too_many_requests', 'Too many unknown API keys: try again later', undefined, {
      'Retry-After': String(Math.ceil(remainingMs / 1000)),
    })
  }

  addValid(hash: string): void {
    this.#valid.set(hash, true)
  }

  add(hash: string, request: Request): void {
    this.#valid.delete(hash)
    const now = Date.now()
    this.#keys.set(hash, now)
    const network = networkIn(request)
    const counted = this.#networks.get(network)
    if (counted && now - counted.since < windowMs) counted.count += 1
    else this.#networks.set(network, { count: 1, since: now })
  }
}

const networkIn = ({ headers }: Request): string => networkOf(headers.get('CF-Connecting-IP') ?? '')
