/**
 * Values that belong to no session. Objects of the class of sessions store them, so that a Worker needs one class only: each value has an
 * object of its own, whose name tells what it is.
 *
 * | object                 | key            | meaning                                                           | lifetime            |
 * |------------------------|----------------|-------------------------------------------------------------------|---------------------|
 * | `keys`                 | `keys`         | the key ring of a Worker that has no secret `EDGEMCP_KEYS`. One class has it: see `worker/platform.ts` | as the class |
 * | `request-state <name>` | `use`          | what a state of a stateless call was used with                    | `expires`, by alarm |
 * |                        | `lease`        | milliseconds since 1970: until when its Worker is known to work   | `expires`, by alarm |
 * |                        | `kept:<part>`  | the answer to that use, or a journal: see `parts.ts`              | `expires`, by alarm |
 * |                        | `kept`         | the same, of an older release                                     | `expires`, by alarm |
 */

import { DurableObject } from 'cloudflare:workers'
import { type KeyRing, mintKeyRing } from '../../worker/sealing/seal.ts'
import type { Consumed, StoreRpc } from '../rpc.ts'
import { Schema } from '../shared/schema.ts'
import { RequestState } from './request-state.ts'

export class Store extends DurableObject implements StoreRpc {
  protected readonly schema = new Schema(this.ctx.storage)
  readonly #requestState = new RequestState(this.ctx.storage, this.schema)

  keys(): Promise<KeyRing>
  keys(mint: boolean): Promise<KeyRing | undefined>
  async keys(mint = true): Promise<KeyRing | undefined> {
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

  /** The time of a request state is over. */
  override async alarm(): Promise<void> {
    if (await this.schema.putOffAlarm()) return
    await this.ctx.storage.deleteAll()
    this.schema.reset()
  }
}
