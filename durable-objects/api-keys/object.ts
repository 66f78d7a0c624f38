/**
 * What `apiKeys()` stores. Each key has an object of its own, so that keys are verified independently of each other, and so has each owner,
 * to list the keys. Objects of an audience, the endpoint that accepts its keys, have names of their own.
 *
 * | object                             | key        | meaning                                         | lifetime              |
 * |------------------------------------|------------|-------------------------------------------------|-----------------------|
 * | `["key",<audience>,<id>]`          | `key`      | `StoredApiKey`: a key, as its SHA-256           | `expiresAt`, by alarm |
 * | `["owner",<audience>,<tenant>,<subject>]` | `of:<id>` | `Entry`: a key of the owner               | that of the key       |
 *
 * SHA-256 without salt and iterations is enough: a key has 256 random bits, so that nobody finds it by trying.
 */
import { DurableObject } from 'cloudflare:workers'
import { isSameText } from '../../worker/sealing/same-text.ts'
import { Alarms } from '../shared/alarms.ts'
import { Schema } from '../shared/schema.ts'
import { migrations } from './migrations.ts'
import type { ApiKeyOwnerRpc, ApiKeyRpc, StoredApiKey } from './rpc.ts'

/** A key of an owner. Times are milliseconds since 1970. */
type Entry = { readonly createdAt: number; readonly expiresAt?: number | undefined; readonly isReplaced?: boolean }

/** Milliseconds between two uses that are stored. */
const useIntervalMs = 60 * 60_000
/** Milliseconds after which the creation of a key is too late: its entry may have been removed. */
const creationMs = 30_000

/** Keys of an owner that are replaced and still valid. */
const maxReplaced = 100

const prefix = 'of:'

export class ApiKeys extends DurableObject implements ApiKeyRpc, ApiKeyOwnerRpc {
  readonly #schema = new Schema(this.ctx.storage, migrations)
  readonly #alarms = new Alarms(this.ctx.storage)

  async verify(hash: string): Promise<{ readonly key: StoredApiKey; readonly isUseDue: boolean } | undefined> {
    const key = this.#key()
    return key && isSameText(key.hash, hash) ? { key, isUseDue: isUseDue(key) } : undefined
  }

  async recordUse(): Promise<void> {
    const key = this.#key()
    if (key && isUseDue(key)) this.#put({ ...key, lastUsedAt: Date.now() })
  }

  async create(key: StoredApiKey): Promise<void> {
    if (this.#key()) throw new Error('The API key exists already')
    if (Date.now() > key.createdAt + creationMs) throw new Error('The creation of the API key took too long: try again')
    this.#put(key)
    if (key.expiresAt !== undefined) await this.#alarms.set({ expiresAt: key.expiresAt })
  }

  async describe(subject: string, tenant: string | undefined): Promise<StoredApiKey | undefined> {
    return this.#keyOf(subject, tenant)
  }

  async revoke(subject: string, tenant: string | undefined): Promise<boolean> {
    if (!this.#keyOf(subject, tenant)) return false
    await this.#clear()
    return true
  }

  async replace(subject: string, tenant: string | undefined, by: string, until: number): Promise<number | undefined> {
    const key = this.#keyOf(subject, tenant)
    if (!key || key.replacedBy !== undefined) return undefined
    const expiresAt = Math.min(until, key.expiresAt ?? until)
    if (expiresAt <= Date.now()) {
      await this.#clear()
      return expiresAt
    }
    this.#put({ ...key, replacedBy: by, expiresAt })
    await this.#alarms.set({ expiresAt })
    return expiresAt
  }

  async add(id: string, createdAt: number, expiresAt: number | undefined, maxKeys: number) {
    const entries = this.#entries()
    const replacedCount = entries.filter(([, { isReplaced }]) => isReplaced).length
    if (entries.length - replacedCount >= maxKeys) return 'too many keys' as const
    if (replacedCount >= maxReplaced) return 'too many replaced keys' as const
    await this.#putEntry(id, { createdAt, expiresAt })
    return undefined
  }

  async setReplaced(id: string, expiresAt: number): Promise<void> {
    const [, entry] = this.#entries().find(([name]) => name === id) ?? []
    if (entry) await this.#putEntry(id, { ...entry, expiresAt, isReplaced: true })
  }

  async list(): Promise<readonly { readonly id: string; readonly createdAt: number }[]> {
    return this.#entries().map(([id, { createdAt }]) => ({ id, createdAt }))
  }

  async remove(ids: readonly string[]): Promise<void> {
    this.#schema.check()
    for (const id of ids) this.ctx.storage.kv.delete(prefix + id)
    if (this.#entries().length === 0) await this.#clear()
  }

  /** Deletes what has expired. */
  override async alarm(): Promise<void> {
    if (await this.#schema.putOffAlarm()) return
    const { kv } = this.ctx.storage
    if (kv.get<StoredApiKey>('key')) return this.#deleteKeyWhenExpired()
    const entries = [...kv.list<Entry>({ prefix })]
    for (const [name, entry] of entries) if (isExpired(entry)) kv.delete(name)
    const later = entries.flatMap(([, entry]) => (isExpired(entry) ? [] : (entry.expiresAt ?? [])))
    if (later.length > 0) await this.#alarms.set({ expiresAt: Math.min(...later) })
    if (entries.every(([, entry]) => isExpired(entry))) await this.#clear()
  }

  async #deleteKeyWhenExpired(): Promise<void> {
    const key = this.#key()
    if (!key) await this.#clear()
    else if (key.expiresAt !== undefined) await this.#alarms.set({ expiresAt: key.expiresAt })
  }

  /** Returns the key of this object; `undefined` if there is none, or it has expired. */
  #key(): StoredApiKey | undefined {
    this.#schema.check()
    const key = this.ctx.storage.kv.get<StoredApiKey>('key')
    return key && !isExpired(key) ? key : undefined
  }

  #keyOf(subject: string, tenant: string | undefined): StoredApiKey | undefined {
    const key = this.#key()
    return key?.subject === subject && key.tenant === tenant ? key : undefined
  }

  #entries(): (readonly [id: string, entry: Entry])[] {
    this.#schema.check()
    const entries = [...this.ctx.storage.kv.list<Entry>({ prefix })]
    return entries
      .filter(([, entry]) => !isExpired(entry))
      .map(([name, entry]) => [name.slice(prefix.length), entry] as const)
  }

  #put(key: StoredApiKey): void {
    this.#schema.store()
    this.ctx.storage.kv.put('key', key)
  }

  async #putEntry(id: string, entry: Entry): Promise<void> {
    this.#schema.store()
    this.ctx.storage.kv.put(prefix + id, entry)
    if (entry.expiresAt !== undefined) await this.#alarms.add(entry.expiresAt)
  }

  async #clear(): Promise<void> {
    await this.ctx.storage.deleteAll()
    this.#schema.reset()
  }
}

const isExpired = ({ expiresAt = Number.POSITIVE_INFINITY }: Pick<Entry, 'expiresAt'>): boolean =>
  expiresAt <= Date.now()

const isUseDue = ({ lastUsedAt = 0 }: StoredApiKey): boolean => Date.now() - lastUsedAt > useIntervalMs
