/**
 * What handlers remember: one object for each declared state and each of its sessions, users, tenants or handles.
 *
 * | key         | meaning                                                        | lifetime                        |
 * |-------------|----------------------------------------------------------------|---------------------------------|
 * | `of:<key>`  | a value that an operation put                                  | until deleted                   |
 * | `tables`    | how many of the declaration's statements have been run         | the state                       |
 * | `lapses`    | milliseconds: when all of it is deleted, by alarm              | the state; moves on with its use |
 * | `ended`     | tombstone: until when the handle of a forgotten state is good  | until then, by alarm            |
 *
 * Besides these, the tables of the declaration. A state that was only ever read has stored nothing.
 */
import { DurableObject } from 'cloudflare:workers'
import { McpError } from '../worker/protocol/errors.ts'
import type { StateAnswer, StateCall, StateRpc } from '../worker/server/state.ts'
import { type Declaration, declarationOf, type SqlValue, type Store } from '../worker/state/declaration.ts'

const prefix = 'of:'

/** Thrown to undo a transaction that changed nothing but made tables to read from. */
const unchanged = Symbol('unchanged')

export class State extends DurableObject implements StateRpc {
  async run({ state, operation, args, expires }: StateCall): Promise<StateAnswer> {
    const { storage } = this.ctx
    const now = Date.now()
    if (storage.kv.get('ended') !== undefined || (expires ?? now + 1) <= now) return { gone: true }
    // Alarms may be late.
    if ((storage.kv.get<number>('lapses') ?? now + 1) <= now) await storage.deleteAll()
    let value: unknown
    try {
      const declaration = declarationOf(state)
      storage.transactionSync(() => {
        const writing = { done: false }
        value = this.#perform(declaration, operation, args, writing)
        const lapses = expires ?? (declaration.ttl && now + declaration.ttl)
        if (lapses !== undefined) this.#prolong(lapses, now, writing.done)
        else if (!writing.done) throw unchanged
      })
    } catch (thrown) {
      if (thrown !== unchanged) return { thrown: described(thrown) }
    }
    return { value }
  }

  async forget(expires?: number): Promise<void> {
    await this.ctx.storage.deleteAll()
    if (expires === undefined) return
    this.ctx.storage.kv.put('ended', expires)
    await this.ctx.storage.setAlarm(expires)
  }

  override async alarm(): Promise<void> {
    const { kv } = this.ctx.storage
    const lapses = kv.get<number>('ended') ?? kv.get<number>('lapses') ?? 0
    if (lapses > Date.now()) return this.ctx.storage.setAlarm(lapses)
    return this.ctx.storage.deleteAll()
  }

  #perform({ name, tables, operations }: Declaration, operation: string, args: readonly unknown[], writing: Writing) {
    const { kv, sql } = this.ctx.storage
    const made = kv.get<number>('tables') ?? 0
    for (const statement of tables.slice(made)) sql.exec(statement)
    if (made < tables.length) kv.put('tables', tables.length)
    const all = operations(this.#store(writing))
    const perform = Object.hasOwn(all, operation) ? all[operation] : undefined
    if (!perform) throw new Error(`The state "${name}" has no operation "${operation}" any more`)
    const value = perform(...(args as never[]))
    if (value instanceof Promise) {
      value.catch(() => {})
      throw new Error(`The operation "${operation}" of the state "${name}" is async: a transaction cannot wait`)
    }
    // What cannot travel back must not have been kept.
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

  /** Notes when it lapses: with the first thing that is kept, and then rarely. */
  #prolong(lapses: number, now: number, wrote: boolean): void {
    const { storage } = this.ctx
    const noted = storage.kv.get<number>('lapses')
    if (noted === undefined && !wrote) throw unchanged
    if (noted !== undefined && lapses - noted <= (lapses - now) / 4) return
    storage.kv.put('lapses', lapses)
    if (noted === undefined) void storage.setAlarm(lapses)
  }
}

type Writing = { done: boolean }

/** What was thrown, as it travels. */
function described(thrown: unknown) {
  if (thrown instanceof McpError) return { kind: thrown.kind, message: thrown.message, data: thrown.data }
  const { message, stack } = thrown instanceof Error ? thrown : new Error(String(thrown))
  return { message, stack }
}
