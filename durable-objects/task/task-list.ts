/**
 * The tasks of one principal, or of one session, for clients that list them. An object of its own stores them.
 *
 * | table   | column    | meaning                                   | lifetime               |
 * |---------|-----------|-------------------------------------------|------------------------|
 * | `tasks` | `seq`     | their order                               | the same               |
 * |         | `task`    | `ListedTask`, as JSON                     | the same               |
 * |         | `expires` | milliseconds since 1970: when the task expires | until then, by alarm |
 */

import type { Alarms } from '../shared/alarms.ts'
import type { Schema } from '../shared/schema.ts'
import { Tables } from '../shared/tables.ts'
import type { ListedTask, TaskListRpc } from './rpc.ts'

/** Milliseconds for which entries may be stored after they expire, so that one alarm deletes several. */
const batch = 60_000

const tables = 'CREATE TABLE tasks (seq INTEGER PRIMARY KEY, task TEXT, expires INTEGER)'

type Row = { seq: number; task: string }

export class TaskList implements TaskListRpc {
  readonly #storage: DurableObjectStorage
  readonly #schema: Schema
  readonly #alarms: Alarms
  readonly #tables: Tables

  constructor(storage: DurableObjectStorage, schema: Schema, alarms: Alarms) {
    this.#storage = storage
    this.#schema = schema
    this.#alarms = alarms
    this.#tables = new Tables(storage.sql, 'tasks', tables)
  }

  async list(task: ListedTask, expires: number): Promise<void> {
    this.#schema.store()
    this.#tables.create()
    this.#tables.query('INSERT INTO tasks (task, expires) VALUES (?, ?)', JSON.stringify(task), expires)
    await this.#alarms.add(expires + batch)
  }

  async listed(after: number, limit: number): Promise<{ tasks: ListedTask[]; next: number | undefined }> {
    const rows = this.#tables.query<Row>(
      'SELECT seq, task FROM tasks WHERE seq > ? AND expires > ? ORDER BY seq LIMIT ?',
      after,
      Date.now(),
      limit + 1,
    )
    const page = rows.slice(0, limit)
    const next = rows.length > limit ? page.at(-1)?.seq : undefined
    return { tasks: page.map(({ task }) => JSON.parse(task)), next }
  }

  async alarm(): Promise<void> {
    this.#tables.query('DELETE FROM tasks WHERE expires <= ?', Date.now())
    const [row] = this.#tables.query<{ due: number | null }>('SELECT MIN(expires) AS due FROM tasks')
    if (typeof row?.due === 'number') return this.#alarms.set({ expiry: row.due + batch })
    await this.#storage.deleteAll()
    this.#schema.reset()
    this.#tables.reset()
  }
}
