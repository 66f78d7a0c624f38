import { McpError } from '../../worker/protocol/errors.ts'
import { bytesOf, maxValueBytes } from './parts.ts'
import type { Schema } from './schema.ts'

/** Key-value storage of one object, each key read from the database once: every call of a session looks at a few. */
export class Values {
  readonly #kv: SyncKvStorage
  readonly #schema: Schema
  readonly #known = new Map<string, unknown>()

  constructor(kv: SyncKvStorage, schema: Schema) {
    this.#kv = kv
    this.#schema = schema
  }

  /** Not to be changed in place. */
  get<T>(key: string): T | undefined {
    if (!this.#known.has(key)) this.#known.set(key, this.#kv.get(key))
    return this.#known.get(key) as T | undefined
  }

  /** Whether a value fits. The local runtime takes larger ones than production does. */
  fits(value: unknown): boolean {
    return bytesOf(JSON.stringify(value)) <= maxValueBytes
  }

  /** @throws McpError `content_too_large` when the value does not fit; nothing is changed */
  put(key: string, value: unknown): void {
    if (!this.fits(value)) {
      const bytes = bytesOf(JSON.stringify(value))
      const message = `A session stores at most ${maxValueBytes} bytes as its "${key}", and this has ${bytes}: send less`
      throw new McpError('content_too_large', message, { bytes, maxBytes: maxValueBytes })
    }
    this.#schema.store()
    this.#kv.put(key, value)
    this.#known.set(key, value)
  }

  delete(key: string): void {
    this.#kv.delete(key)
    this.#known.delete(key)
  }

  /** The storage has been deleted. */
  reset(): void {
    this.#known.clear()
  }
}
