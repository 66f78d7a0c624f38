/**
 * What sign-in stores: grants and their tokens, registered clients, and values that are used once. Each has an object of its own, whose
 * name tells its kind. The keys, values and metadata are those of `@cloudflare/workers-oauth-provider`, which stores hashes of tokens, and
 * encrypts the properties of a grant with keys that only its tokens unwrap.
 *
 * | object                 | key                            | meaning                                     | lifetime              |
 * |------------------------|--------------------------------|---------------------------------------------|-----------------------|
 * | `grant:<user>:<grant>` | `grant:<user>:<grant>`         | a grant                                     | `expires`, by alarm   |
 * |                        | `token:<user>:<grant>:<hash>`  | an access token of the grant                | `expires`, by alarm   |
 * | `user:<user>`          | `grant:<user>:<grant>`         | the metadata of each grant of the user      | that of the grant     |
 * | `client:<id>`          | `client:<id>`                  | a registered client                         | `expires`, by alarm   |
 * | `transaction:<hash>`   | `transaction:<hash>`           | a consent page, or a visit to the provider  | 10 minutes            |
 * | `settings`             | `secret`                       | the key that signs remembered approvals     | as the class          |
 * | `<kind>-jti:<id>`      | `<kind>-jti:<id>`              | an assertion that was used                  | that of the assertion |
 */
import { DurableObject } from 'cloudflare:workers'
import { encodeBase64url } from '../../worker/protocol/base64url.ts'
import { randomBytes } from '../../worker/sealing/bytes.ts'
import type { OAuthSite, SignInRpc, StoredKey } from '../rpc.ts'
import { Alarms } from '../shared/alarms.ts'
import { Schema } from '../shared/schema.ts'

/** A stored value. `expires`: milliseconds since 1970; `undefined`: never. */
type Entry = { readonly value: string; readonly metadata?: unknown; readonly expires?: number | undefined }

/** What the object needs of the plugin that made its class. */
export interface SignInHost {
  /** Answers a request of a client to the token endpoint. @param own the object in which it runs */
  answer(
    request: Request,
    site: OAuthSite,
    own: { readonly name: string; readonly storage: SignInRpc },
  ): Promise<Response>
}

/** Milliseconds for which a value that is used once belongs to the reader that read it first. */
const leaseMs = 10_000

export class SignIn extends DurableObject implements SignInRpc {
  readonly #host: SignInHost
  readonly #schema = new Schema(this.ctx.storage)
  readonly #alarms = new Alarms(this.ctx.storage)
  /** The requests of a grant run one after the other. */
  #last: Promise<unknown> = Promise.resolve()
  /** Until when each value that is used once belongs to its first reader, in milliseconds since 1970. */
  readonly #leases = new Map<string, number>()

  constructor(ctx: DurableObjectState, env: Cloudflare.Env, host: SignInHost) {
    super(ctx, env)
    this.#host = host
  }

  async read(key: string, isUsedOnce = false): Promise<string | null> {
    this.#schema.check()
    if (isUsedOnce && !this.#lease(key)) return null
    return this.#entry(key)?.value ?? null
  }

  async reserve(key: string): Promise<string | null> {
    this.#schema.check()
    return this.#entry(key)?.value ?? (this.#lease(key) ? null : 'reserved')
  }

  async write(key: string, value: string, metadata: unknown, expires: number | undefined): Promise<void> {
    this.#schema.check()
    this.#schema.store()
    const entry: Entry = {
      value,
      ...(metadata !== undefined && { metadata }),
      ...(expires !== undefined && { expires }),
    }
    this.ctx.storage.kv.put(key, entry)
    if (expires !== undefined) await this.#alarms.add(expires)
  }

  async remove(key: string): Promise<void> {
    this.#schema.check()
    this.ctx.storage.kv.delete(key)
    await this.#deleteIfEmpty()
  }

  async list(prefix: string): Promise<readonly StoredKey[]> {
    this.#schema.check()
    const entries = [...this.ctx.storage.kv.list<Entry>({ prefix })]
    return entries
      .filter(([, entry]) => !isExpired(entry))
      .map(([name, { metadata, expires }]) => ({ name, metadata, expires }))
  }

  async secret(): Promise<string> {
    const stored = this.#entry('secret')
    if (stored) return stored.value
    const value = encodeBase64url(randomBytes(32))
    await this.write('secret', value, undefined, undefined)
    return value
  }

  /** Answers a token request of this grant, after those that arrived before it: a refresh reads the grant and writes it again. */
  answer(request: Request, site: OAuthSite, name: string): Promise<Response> {
    const answer = this.#last.then(() => this.#host.answer(request, site, { name, storage: this }))
    this.#last = answer.catch(() => {})
    return answer
  }

  /** Deletes what has expired. */
  override async alarm(): Promise<void> {
    if (await this.#schema.putOffAlarm()) return
    const { kv } = this.ctx.storage
    let next = Number.POSITIVE_INFINITY
    for (const [key, entry] of [...kv.list<Entry>()].filter(([key]) => key !== 'schema')) {
      if (isExpired(entry)) kv.delete(key)
      else next = Math.min(next, entry.expires ?? next)
    }
    if (next < Number.POSITIVE_INFINITY) await this.#alarms.set({ expires: next })
    await this.#deleteIfEmpty()
  }

  #entry(key: string): Entry | undefined {
    const entry = this.ctx.storage.kv.get<Entry>(key)
    return entry && !isExpired(entry) ? entry : undefined
  }

  /** Returns whether the caller is the first reader of a value that is used once. */
  #lease(key: string): boolean {
    if ((this.#leases.get(key) ?? 0) > Date.now()) return false
    this.#leases.set(key, Date.now() + leaseMs)
    return true
  }

  async #deleteIfEmpty(): Promise<void> {
    const isEmpty = [...this.ctx.storage.kv.list({ limit: 2 })].every(([key]) => key === 'schema')
    if (!isEmpty) return
    await this.ctx.storage.deleteAll()
    this.#schema.reset()
  }
}

const isExpired = ({ expires = Number.POSITIVE_INFINITY }: Entry): boolean => expires <= Date.now()
