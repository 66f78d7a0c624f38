/** A request state of a stateless call that its client cannot carry: a journal that is too large, or the record that a state has been used. */

import { waitAtMost } from '../../worker/engine/wait.ts'
import type { Schema } from '../shared/schema.ts'
import { readParts, writeParts } from '../shared/split-texts.ts'
import type { Consumed, RequestStateRpc } from './rpc.ts'

/** Milliseconds after its last extension until which a Worker counts as working. It extends its lease several times in this time. */
const defaultLeaseMs = 30_000

export class RequestState implements RequestStateRpc {
  readonly #storage: DurableObjectStorage
  readonly #schema: Schema
  readonly #patienceMs: number
  readonly #leaseMs: number
  /** Resolves when the answer is stored. */
  readonly #answered = Promise.withResolvers<string>()

  /** @param times `patienceMs`: how long one request waits for the answer of another */
  constructor(
    storage: DurableObjectStorage,
    schema: Schema,
    { patienceMs = 25_000, leaseMs = defaultLeaseMs }: { patienceMs?: number; leaseMs?: number } = {},
  ) {
    this.#storage = storage
    this.#schema = schema
    this.#patienceMs = patienceMs
    this.#leaseMs = leaseMs
  }

  async put(text: string, expires: number): Promise<void> {
    this.#schema.store()
    writeParts(this.#storage.kv, 'kept', text)
    await this.#storage.setAlarm(expires)
    this.#answered.resolve(text)
  }

  async get(): Promise<string | undefined> {
    return readParts(this.#storage.kv, 'kept') || undefined
  }

  async consume(use: string, expires: number, isLate = false): Promise<Consumed> {
    const { kv } = this.#storage
    const used = kv.get<string>('use')
    if (used === undefined) {
      if (isLate) return { is: 'late' }
      this.#schema.store()
      kv.put('use', use)
      this.#lease()
      await this.#storage.setAlarm(expires)
      return { is: 'first' }
    }
    if (used !== use) return { is: 'other' }
    const text = (await this.get()) ?? (await this.#answer())
    if (text !== undefined) return { is: 'answered', text }
    return { is: this.#leaseEnds > Date.now() ? 'working' : 'lost' }
  }

  async extend(): Promise<void> {
    if (this.#storage.kv.get('use') !== undefined) this.#lease()
  }

  #lease(): void {
    this.#storage.kv.put('lease', Date.now() + this.#leaseMs)
  }

  /** Milliseconds since 1970. */
  get #leaseEnds(): number {
    return this.#storage.kv.get<number>('lease') ?? 0
  }

  /** Waits for the answer while a Worker works on it, for at most `patienceMs`. */
  async #answer(): Promise<string | undefined> {
    const patienceEnds = Date.now() + this.#patienceMs
    for (;;) {
      const waitMs = Math.min(patienceEnds, this.#leaseEnds) - Date.now()
      if (waitMs <= 0) return undefined
      const text = await waitAtMost(waitMs, this.#answered.promise)
      if (text !== undefined) return text
    }
  }
}
