/**
 * The Durable Object `McpState`: stores one declared state of one session, user, tenant or handle.
 *
 * | key         | meaning                                                        | lifetime                        |
 * |-------------|----------------------------------------------------------------|---------------------------------|
 * | `of:<key>`  | a value that an operation put                                  | until deleted                   |
 * | `tables`    | number of the declaration's statements that have run           | the state                       |
 * | `lapses`    | milliseconds since 1970: when the state of a handle or session is deleted, by alarm | the state |
 * | `used`      | `Use`: the last use of another state, which is deleted `ttl` later, by alarm | the state |
 * | `ended`     | tombstone of a deleted state: until when its handle is valid   | until then, by alarm            |
 *
 * Also the version (`schema.ts`) and the tables of the declaration. A state that was only read has stored nothing.
 */
import { DurableObject } from 'cloudflare:workers'
import type { StateAnswer, StateCall, StateRpc } from '../../worker/declarations/state.ts'
import {
  type Declaration,
  declarationOf,
  type SqlValue,
  type Store,
} from '../../worker/declarations/state-declaration.ts'
import { McpError } from '../../worker/protocol/errors.ts'
import { Alarms } from '../shared/alarms.ts'
import { replaceAll } from '../shared/replace-all.ts'
import { Schema } from '../shared/schema.ts'
import { migrations } from './migrations.ts'
import { StateExpiry } from './state-expiry.ts'

const prefix = 'of:'

/** Thrown to undo a transaction that only created tables to read from. */
const unchanged = Symbol('unchanged')

/**
 * Stores one state and runs its operations. Export it from your Worker as `McpState`.
 *
 * @see https://developers.cloudflare.com/durable-objects/
 *
 * @example
 * export { McpState } from 'edgemcp/state'
 */
export class State extends DurableObject implements StateRpc {
  readonly #schema = new Schema(this.ctx.storage, migrations)
  readonly #alarms = new Alarms(this.ctx.storage)
  readonly #expiry = new StateExpiry(this.ctx.storage, this.#schema, this.#alarms)

  async run({ state, operation, args, expires }: StateCall): Promise<StateAnswer> {
    this.#schema.check()
    const { storage } = this.ctx
    const now = Date.now()
    if (storage.kv.get('ended') !== undefined || (expires ?? now + 1) <= now) return { gone: true }
    try {
      const declaration = declarationOf(state)
      // The alarm may be late.
      if ((this.#expiry.at ?? now + 1) <= now) await this.#clear()
      return storage.transactionSync(() => {
        const writing = { done: false }
        const answer = this.#attempt(declaration, operation, args, writing)
        if (writing.done || this.#isStored) this.#expiry.recordUse(declaration, expires, now)
        return answer
      })
    } catch (thrown) {
      // The version may be among what was undone.
      if (!this.#isStored) this.#schema.reset()
      return { thrown: described(thrown) }
    }
  }

  async deleteAll(expires?: number): Promise<void> {
    this.#schema.check()
    if (expires === undefined) return this.#clear()
    const { storage } = this.ctx
    replaceAll(storage, () => {
      this.#schema.reset()
      this.#schema.store()
      storage.kv.put('ended', expires)
    })
    await this.#alarms.set({ tombstone: expires })
  }

  override async alarm(): Promise<void> {
    if (await this.#schema.putOffAlarm()) return
    const until = this.ctx.storage.kv.get<number>('ended') ?? this.#expiry.at
    // Its declaration has no `ttl` any more.
    if (until === undefined) return
    if (until > Date.now()) return this.#alarms.set({ until })
    return this.#clear()
  }

  async #clear(): Promise<void> {
    await this.ctx.storage.deleteAll()
    this.#schema.reset()
  }

  /** Performs an operation. Undoes what it wrote if it throws, and the tables of a state that has stored nothing. */
  #attempt(declaration: Declaration, operation: string, args: readonly unknown[], writing: Writing): StateAnswer {
    let value: unknown
    try {
      this.ctx.storage.transactionSync(() => {
        const hasNewTables = this.#createTables(declaration)
        value = this.#perform(declaration, operation, args, writing)
        if (hasNewTables && !writing.done && !this.#isStored) throw unchanged
      })
    } catch (thrown) {
      writing.done = false
      if (thrown !== unchanged) return { thrown: described(thrown) }
    }
    return { value }
  }

  /** Whether an operation has written, and the state has not been deleted since. */
  get #isStored(): boolean {
    return this.ctx.storage.kv.get('schema') !== undefined
  }

  /** Runs the statements that have not run. Returns true if there were any. */
  #createTables({ tables }: Declaration): boolean {
    const { kv, sql } = this.ctx.storage
    const created = kv.get<number>('tables') ?? 0
    for (const statement of tables.slice(created)) sql.exec(statement)
    if (created >= tables.length) return false
    kv.put('tables', tables.length)
    return true
  }

  #perform({ name, operations }: Declaration, operation: string, args: readonly unknown[], writing: Writing) {
    const all = operations(this.#store(writing))
    const perform = Object.hasOwn(all, operation) ? all[operation] : undefined
    if (!perform) throw new Error(`The state "${name}" no longer has the operation "${operation}"`)
    // The Worker typed the arguments by the operation, which has the same name on both sides of the RPC.
    const value = perform(...(args as never[]))
    if (value instanceof Promise) {
      value.catch(() => {})
      throw new Error(
        `The operation "${operation}" of the state "${name}" returned a promise, and a transaction cannot wait: await before you call it`,
      )
    }
    // If the result cannot be cloned, the transaction must not be committed.
    return structuredClone(value)
  }

  #store(writing: Writing): Store {
    const { kv, sql } = this.ctx.storage
    const store: Store = {
      get: (key) => kv.get(prefix + key),
      put(key, value) {
        writing.done = true
        kv.put(prefix + key, value)
      },
      delete(key) {
        const had = kv.delete(prefix + key)
        writing.done ||= had
        return had
      },
      entries: () => [...kv.list({ prefix })].map(([key, value]) => [key.slice(prefix.length), value]),
      sql<R extends Record<string, SqlValue>>(query: string, ...bindings: unknown[]) {
        const cursor = sql.exec<R>(query, ...bindings)
        const rows = cursor.toArray()
        writing.done ||= cursor.rowsWritten > 0
        return rows
      },
    }
    return store
  }
}

type Writing = { done: boolean }

/** Converts a thrown value into a form that RPC can carry. */
function described(thrown: unknown) {
  if (thrown instanceof McpError) return { kind: thrown.kind, message: thrown.message, data: thrown.data }
  const { message, stack } = thrown instanceof Error ? thrown : new Error(String(thrown))
  return { message, stack }
}
