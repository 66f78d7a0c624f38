/**
 * The version of what a Durable Object stores.
 *
 * | key      | meaning                                     | lifetime                     |
 * |----------|---------------------------------------------|------------------------------|
 * | `schema` | the version of the schema, starting with 1  | as long as anything is stored |
 *
 * An object writes the version together with its first value, so an object that stores nothing has none.
 */
import { McpError } from '../../worker/protocol/errors.ts'

/** Converts what the previous version stored. */
export type Migration = (storage: DurableObjectStorage) => void

/** Seconds after which a client may retry: until then, the newer release may be deployed again. */
const retryAfterSeconds = 60

/** Milliseconds after which the alarm of an object is repeated that this release cannot read. */
const unreadableRetryMs = 60 * 60_000

/** Returns the version of what the current release stores. */
export const versionOf = (migrations: readonly Migration[]): number => migrations.length + 1

export class Schema {
  readonly #storage: DurableObjectStorage
  readonly #version: number
  #stored: number | undefined

  /**
   * Migrates what an older release has stored, in one transaction. Call it before any read.
   *
   * @param migrations of the kind of object: see `migrations.ts` beside each `object.ts`
   */
  constructor(storage: DurableObjectStorage, migrations: readonly Migration[]) {
    this.#storage = storage
    this.#version = versionOf(migrations)
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
   * Rejects work on what a newer release has stored, as after a rollback. Changes nothing.
   *
   * @throws McpError `unavailable`
   */
  check(): void {
    if (!this.#isNewer) return
    const message = `A newer release stored this object (schema ${this.#stored}; this one reads ${this.#version}): deploy it again. No data is lost`
    const data = { reason: 'newer_schema', retryable: true, stored: this.#stored, supported: this.#version }
    throw new McpError('unavailable', message, data, { 'Retry-After': String(retryAfterSeconds) })
  }

  /** For alarms, which must not change data that they cannot read, and must not be lost. Returns true if the alarm was postponed. */
  async putOffAlarm(): Promise<boolean> {
    if (this.#isNewer) await this.#storage.setAlarm(Date.now() + unreadableRetryMs)
    return this.#isNewer
  }

  /** Stores the version, together with the first value. */
  store(): void {
    if (this.#stored !== undefined) return
    this.#storage.kv.put('schema', this.#version)
    this.#stored = this.#version
  }

  /** Called after the storage was deleted. */
  reset(): void {
    this.#stored = undefined
  }

  get #isNewer(): boolean {
    return (this.#stored ?? 0) > this.#version
  }
}
