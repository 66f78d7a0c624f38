import { McpError } from '../../worker/protocol/errors.ts'
import type { Schema } from './schema.ts'
import { bytesOf, maxValueBytes } from './split-texts.ts'

/**
 * Key-value storage of one object. Reads each key from the database once, because every call of a session reads a few.
 *
 * @typeParam Stored the type of each value, by its key
 */
export class Values<Stored extends object> {
  readonly #kv: SyncKvStorage
  readonly #schema: Schema
  #known: Partial<Stored> = {}

  constructor(kv: SyncKvStorage, schema: Schema) {
    this.#kv = kv
    this.#schema = schema
  }

  /** Returns a value, which must not be changed in place. */
  get<K extends keyof Stored & string>(key: K): Stored[K] | undefined {
    if (!Object.hasOwn(this.#known, key)) this.#known[key] = this.#kv.get<Stored[K]>(key)
    return this.#known[key]
  }

  /** Whether a value fits. The local runtime accepts larger values than production. */
  fits(value: unknown): boolean {
    return bytesOf(JSON.stringify(value)) <= maxValueBytes
  }

  /** Stores a value. @throws McpError `content_too_large` when the value does not fit; nothing changes */
  put<K extends keyof Stored & string>(key: K, value: Stored[K]): void {
    if (!this.fits(value)) {
      const bytes = bytesOf(JSON.stringify(value))
      const message = `"${key}" of this session has ${bytes} bytes: a session stores at most ${maxValueBytes}. Send less`
      throw new McpError('content_too_large', message, { bytes, maxBytes: maxValueBytes })
    }
    this.#schema.store()
    this.#kv.put(key, value)
    this.#known[key] = value
  }

  delete(key: keyof Stored & string): void {
    this.#kv.delete(key)
    delete this.#known[key]
  }

  /** Called after the storage was deleted. */
  reset(): void {
    this.#known = {}
  }
}
