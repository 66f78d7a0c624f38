/**
 * Where the authorization server keeps what it knows, until it is stopped.
 *
 * @see https://github.com/panva/node-oidc-provider/blob/v9.x/example/my_adapter.js
 */
import type { Adapter, AdapterPayload } from 'oidc-provider'

type Entry = { payload: AdapterPayload; expires: number }

const entries = new Map<string, Entry>()

export class MemoryAdapter implements Adapter {
  readonly #name: string

  constructor(name: string) {
    this.#name = name
  }

  async upsert(id: string, payload: AdapterPayload, expiresIn?: number): Promise<void> {
    const expires = expiresIn === undefined ? Number.POSITIVE_INFINITY : Date.now() + expiresIn * 1000
    entries.set(this.#key(id), { payload, expires })
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    const entry = entries.get(this.#key(id))
    return entry && entry.expires > Date.now() ? entry.payload : undefined
  }

  findByUid = (uid: string) => this.#findBy((payload) => payload.uid === uid)
  findByUserCode = (userCode: string) => this.#findBy((payload) => payload.userCode === userCode)

  async consume(id: string): Promise<void> {
    const entry = entries.get(this.#key(id))
    if (entry) entry.payload = { ...entry.payload, consumed: Math.floor(Date.now() / 1000) }
  }

  async destroy(id: string): Promise<void> {
    entries.delete(this.#key(id))
  }

  /** Everything that was issued by one consent. */
  async revokeByGrantId(grantId: string): Promise<void> {
    for (const [key, { payload }] of entries) if (payload.grantId === grantId) entries.delete(key)
  }

  async #findBy(matches: (payload: AdapterPayload) => boolean): Promise<AdapterPayload | undefined> {
    for (const [key, { payload, expires }] of entries) {
      if (key.startsWith(`${this.#name}:`) && expires > Date.now() && matches(payload)) return payload
    }
    return undefined
  }

  #key(id: string): string {
    return `${this.#name}:${id}`
  }
}
