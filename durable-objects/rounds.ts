/**
 * What must not be carried by a stateless client: a memo that is too large, and whether a state has been used.
 *
 * | key     | meaning                                                              | lifetime               |
 * |---------|----------------------------------------------------------------------|------------------------|
 * | `use`   | what a state was used with                                           | `expires`, by alarm    |
 * | `kept:<part>` | the answer to that use, or a memo: see `parts.ts`               | `expires`, by alarm    |
 * | `kept`  | the same, of an older release                                        | `expires`, by alarm    |
 */
import { readParts, writeParts } from './parts.ts'
import type { Schema } from './schema.ts'

/** What may be asked of an object that stands for one state of one call. */
export interface RoundRpc {
  /** @param expires milliseconds: until when to keep it */
  keep(text: string, expires: number): Promise<void>
  kept(): Promise<string | undefined>
  /**
   * Uses a state. The first use is the caller's to answer, with `keep`; the same use again waits for that answer.
   *
   * @param use what it is used with
   */
  claim(use: string, expires: number): Promise<Claim>
}

/** `lost`: it was used the same way, but whoever was to answer did not. `other`: it was used in another way. */
export type Claim = { is: 'first' | 'lost' | 'other' } | { is: 'answered'; text: string }

export class Rounds implements RoundRpc {
  readonly #storage: DurableObjectStorage
  readonly #schema: Schema
  readonly #patience: number
  /** Settles when the use that this instance has seen is answered. */
  #answered: PromiseWithResolvers<string> | undefined

  /** @param patience milliseconds to wait for an answer that somebody else was to give: they may be gone */
  constructor(storage: DurableObjectStorage, schema: Schema, patience = 25_000) {
    this.#storage = storage
    this.#schema = schema
    this.#patience = patience
  }

  async keep(text: string, expires: number): Promise<void> {
    this.#schema.store()
    writeParts(this.#storage.kv, 'kept', text)
    await this.#storage.setAlarm(expires)
    this.#answered?.resolve(text)
  }

  async kept(): Promise<string | undefined> {
    const { kv } = this.#storage
    return readParts(kv, 'kept') || kv.get<string>('kept')
  }

  async claim(use: string, expires: number): Promise<Claim> {
    const { kv } = this.#storage
    const used = kv.get<string>('use')
    if (used === undefined) {
      this.#schema.store()
      kv.put('use', use)
      this.#answered = Promise.withResolvers()
      await this.#storage.setAlarm(expires)
      return { is: 'first' }
    }
    if (used !== use) return { is: 'other' }
    const text = (await this.kept()) ?? (await this.#answer())
    return text === undefined ? { is: 'lost' } : { is: 'answered', text }
  }

  async #answer(): Promise<string | undefined> {
    if (!this.#answered) return undefined
    const { promise: gone, resolve } = Promise.withResolvers<undefined>()
    const timer = setTimeout(resolve, this.#patience)
    const text = await Promise.race([this.#answered.promise, gone])
    clearTimeout(timer)
    return text
  }
}
