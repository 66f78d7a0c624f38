import { McpError } from '../../worker/protocol/errors.ts'
import { bytesOf, maxValueBytes } from './parts.ts'
import type { Schema } from './schema.ts'

/**
 * Key-value storage of one object, each key read from the database once: every call of a session looks at a few.
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

  /** Not to be changed in place. */
  get<K extends keyof Stored & string>(key: K): Stored[K] | undefined {
    if (!Object.hasOwn(this.#known, key)) this.#known[key] = this.#kv.get<Stored[K]>(key)
    return this.#known[key]
  }

  /** Whether a value fits. The local runtime takes larger ones than production does. */
  fits(value: unknown): boolean {
    return bytesOf(JSON.stringify(value)) <= maxValueBytes
  }

  /** @throws McpError `content_too_large` when the value does not fit; nothing is changed */
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

  /** The storage has been deleted. */
  reset(): void {
    this.#known = {}
  }
}
