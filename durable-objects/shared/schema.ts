/**
 * The version of what an object of one class stores.
 *
 * | key      | meaning                                     | lifetime                     |
 * |----------|---------------------------------------------|------------------------------|
 * | `schema` | the version of the schema, beginning with 1 | as long as anything is stored |
 *
 * An object writes the version together with the first thing it stores, so an object that stores nothing has none.
 */
import { McpError } from '../../worker/protocol/errors.ts'

/** Turns what the version before stored into what this one stores. */
export type Migration = (storage: DurableObjectStorage) => void

/** After which a client may ask again: until then the newer release may be deployed again. */
const retryAfterSeconds = 60

/** Milliseconds after which an alarm of an object comes again that this release cannot read. */
const unreadableRetryMs = 60 * 60_000

export class Schema {
  readonly #storage: DurableObjectStorage
  readonly #version: number
  #stored: number | undefined

  /**
   * Migrates what an older release has stored, in one transaction. Call it before anything is read.
   *
   * @param migrations from version 1 to 2, from 2 to 3, and so on; never changed once released
   */
  constructor(storage: DurableObjectStorage, migrations: readonly Migration[] = []) {
    this.#storage = storage
    this.#version = migrations.length + 1
    this.#stored = storage.kv.get<number>('schema')
    const stored = this.#stored
    if (stored === undefined || stored >= this.#version) return
    storage.transactionSync(() => {
      for (const migrate of migrations.slice(stored - 1)) migrate(storage)
      storage.kv.put('schema', this.#version)
    })
    this.#stored = this.#version
  }

  /**
   * Refuses to work on what a newer release has stored, as after a rollback. Nothing is changed.
   *
   * @throws McpError `unavailable`
   */
  check(): void {
    if (!this.#isNewer) return
    const message = `This object was stored by a newer release (schema ${this.#stored}; this release reads up to ${this.#version}): deploy that release again. No data is lost`
    const data = { reason: 'newer_schema', retryable: true, stored: this.#stored, supported: this.#version }
    throw new McpError('unavailable', message, data, { 'Retry-After': String(retryAfterSeconds) })
  }

  /** For alarms, which must neither change what they cannot read nor be lost. True when the alarm was put off. */
  async putOffAlarm(): Promise<boolean> {
    if (this.#isNewer) await this.#storage.setAlarm(Date.now() + unreadableRetryMs)
    return this.#isNewer
  }

  /** Writes the version down, together with the first thing that is stored. */
  store(): void {
    if (this.#stored !== undefined) return
    this.#storage.kv.put('schema', this.#version)
    this.#stored = this.#version
  }

  /** The storage has been deleted. */
  reset(): void {
    this.#stored = undefined
  }

  get #isNewer(): boolean {
    return (this.#stored ?? 0) > this.#version
  }
}
