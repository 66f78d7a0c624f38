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

  put(key: string, value: unknown): void {
    this.#schema.store()
    this.#kv.put(key, value)
    this.#known.set(key, value)
  }

  delete(key: string): void {
    this.#kv.delete(key)
    this.#known.delete(key)
  }

  /** The storage has been deleted. */
  forget(): void {
    this.#known.clear()
  }
}
