/**
 * Values that belong to no session. Objects of the session class store them, so that a Worker needs one class only: each value has an
 * object of its own, whose name tells its kind.
 *
 * | object                 | key            | meaning                                                           | lifetime            |
 * |------------------------|----------------|-------------------------------------------------------------------|---------------------|
 * | `keys`                 | `keys`         | the key ring of a Worker without the secret `EDGEMCP_KEYS`, in one class: see `worker/platform.ts` | as the class |
 * | `request-state <name>` | `use`          | the request that used a request state of a stateless call         | `expires`, by alarm |
 * |                        | `lease`        | milliseconds since 1970: until when its Worker counts as working  | `expires`, by alarm |
 * |                        | `kept:<part>`  | the answer to that use, or a journal: see `split-texts.ts`        | `expires`, by alarm |
 * | `dpop <jkt> <window>`  | `proof:<hash>` | a DPoP proof that was used, by the hash of its `jti`              | `expires`, by alarm |
 */

import { DurableObject } from 'cloudflare:workers'
import { type KeyRing, mintKeyRing } from '../../worker/sealing/seal.ts'
import { Schema } from '../shared/schema.ts'
import { migrationsOf } from './migrations.ts'
import { RequestState } from './request-state.ts'
import type { Consumed, StoreRpc } from './rpc.ts'

/** Bytes of the database of an object with used proofs: more than 100,000 of them. */
const maxProofBytes = 16 * 1024 * 1024

export class Store extends DurableObject implements StoreRpc {
  protected readonly schema = new Schema(this.ctx.storage, migrationsOf(this.ctx.id.name, this.ctx.storage.kv))
  readonly #requestState = new RequestState(this.ctx.storage, this.schema)

  async keys(mint: boolean): Promise<KeyRing | undefined> {
    this.schema.check()
    const { kv } = this.ctx.storage
    const stored = kv.get<KeyRing>('keys')
    if (stored || !mint) return stored
    const minted = mintKeyRing()
    this.schema.store()
    kv.put('keys', minted)
    return minted
  }

  async put(text: string, expires: number): Promise<void> {
    this.schema.check()
    return this.#requestState.put(text, expires)
  }

  async get(): Promise<string | undefined> {
    this.schema.check()
    return this.#requestState.get()
  }

  async consume(use: string, expires: number, isLate?: boolean): Promise<Consumed> {
    this.schema.check()
    return this.#requestState.consume(use, expires, isLate)
  }

  async extend(): Promise<void> {
    this.schema.check()
    return this.#requestState.extend()
  }

  async useProof(id: string, expires: number): Promise<'first' | 'used' | 'full'> {
    this.schema.check()
    const { kv, sql } = this.ctx.storage
    // Nothing is awaited until it is written, so that of two uses at once one is the first.
    if (kv.get(`proof:${id}`) !== undefined) return 'used'
    if (sql.databaseSize > maxProofBytes) return 'full'
    if (kv.get('schema') === undefined) void this.ctx.storage.setAlarm(expires)
    this.schema.store()
    kv.put(`proof:${id}`, 1)
    return 'first'
  }

  /** Deletes an expired request state, or expired proofs. */
  override async alarm(): Promise<void> {
    if (await this.schema.putOffAlarm()) return
    await this.ctx.storage.deleteAll()
    this.schema.reset()
  }
}
