/**
 * The storage of one Durable Object, on node:sqlite. A crash undoes what was written since the last commit. The alarm is part of it.
 *
 * @see https://developers.cloudflare.com/durable-objects/api/sqlite-storage-api/
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { deserialize, serialize } from 'node:v8'

export type SqlValue = string | number | null | ArrayBuffer | Uint8Array
type Row = Record<string, unknown>

/** Bytes of a row, and of a text or blob, that the platform accepts. */
const maxValueBytes = 2 * 1024 * 1024

class Cursor {
  readonly columnNames: string[]
  readonly rowsRead = 0
  readonly rowsWritten: number
  readonly #rows: Row[]
  #position = 0

  constructor(rows: Row[], rowsWritten: number) {
    this.#rows = rows
    this.columnNames = Object.keys(rows[0] ?? {})
    this.rowsWritten = rowsWritten
  }

  next(): IteratorResult<Row, undefined> {
    const value = this.#rows[this.#position]
    this.#position += 1
    return value ? { done: false, value } : { done: true, value: undefined }
  }

  toArray(): Row[] {
    const rest = this.#rows.slice(this.#position)
    this.#position = this.#rows.length
    return rest
  }

  one(): Row {
    const [row, ...others] = this.toArray()
    if (row && others.length === 0) return row
    throw new Error(`Expected exactly one result from SQL query, but got ${row ? 'multiple' : 'no'} results.`)
  }

  *raw(): Generator<unknown[]> {
    for (const row of this.toArray()) yield Object.values(row)
  }

  *[Symbol.iterator](): Generator<Row> {
    yield* this.toArray()
  }
}

export class ObjectStorage {
  /** Whether something was written that a crash would undo. */
  isDirty = false
  /** The alarm as the object reads it, and as a crash leaves it: milliseconds since 1970. */
  alarm: number | null = null
  durableAlarm: number | null = null
  /** Called with the first write after a commit. */
  onWrite: () => void = () => {}
  /** Whether the platform refuses the next write. */
  refusesWrite: () => boolean = () => false
  readonly #database = new DatabaseSync(':memory:')
  readonly #statements = new Map<string, StatementSync>()
  #hasKeyValueTable = false
  #depth = 0

  exec(text: string, ...bindings: SqlValue[]): Cursor {
    const kind = kindOf(text)
    if (kind !== 'read') this.#beginWrite()
    if (kind === 'schema') {
      if (bindings.length > 0) throw new Error(`Several statements take no bindings: ${text}`)
      this.#database.exec(text)
      return new Cursor([], 1)
    }
    for (const value of bindings)
      if (sizeOf(value) > maxValueBytes) throw new Error('string or blob too big: SQLITE_TOOBIG')
    const values = bindings.map((value) => (value instanceof ArrayBuffer ? new Uint8Array(value) : value))
    const statement = this.#prepare(text)
    if (kind === 'write') return new Cursor([], Number(statement.run(...values).changes))
    const rows = statement.all(...values).map(withBuffers)
    return new Cursor(rows, kind === 'read' ? 0 : rows.length)
  }

  get databaseSize(): number {
    const row = this.#prepare('SELECT page_count AS pages FROM pragma_page_count').get()
    return Number(row?.pages) * 4096
  }

  get(key: string): unknown {
    if (!this.#findKeyValueTable()) return undefined
    const row = this.#prepare('SELECT value FROM _cf_KV WHERE key = ?').get(key)
    return row && deserialize(row.value as Uint8Array)
  }

  put(key: string, value: unknown): void {
    this.#beginWrite()
    const bytes = serialize(value)
    if (bytes.byteLength > maxValueBytes) throw new Error('string or blob too big: SQLITE_TOOBIG')
    if (!this.#hasKeyValueTable) {
      this.#database.exec('CREATE TABLE IF NOT EXISTS _cf_KV (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID')
      this.#hasKeyValueTable = true
    }
    this.#prepare('INSERT OR REPLACE INTO _cf_KV VALUES (?, ?)').run(key, bytes)
  }

  delete(key: string): boolean {
    if (!this.#findKeyValueTable()) return false
    this.#beginWrite()
    return this.#prepare('DELETE FROM _cf_KV WHERE key = ?').run(key).changes > 0
  }

  list({ prefix = '', start, limit = -1, reverse = false }: ListOptions = {}): [string, unknown][] {
    if (!this.#findKeyValueTable()) return []
    const order = reverse ? 'DESC' : 'ASC'
    const statement = this.#prepare(
      `SELECT key, value FROM _cf_KV WHERE substr(key, 1, ?) = ? AND key >= ? ORDER BY key ${order} LIMIT ?`,
    )
    const rows = statement.all(prefix.length, prefix, start ?? '', limit)
    return rows.map(({ key, value }) => [String(key), deserialize(value as Uint8Array)])
  }

  setAlarm(at: number | null): void {
    this.#beginWrite()
    this.alarm = at
  }

  transaction<T>(work: () => T): T {
    this.#beginWrite()
    const { alarm } = this
    const name = `s${this.#depth}`
    this.#depth += 1
    this.#database.exec(`SAVEPOINT ${name}`)
    try {
      const result = work()
      this.#database.exec(`RELEASE ${name}`)
      return result
    } catch (problem) {
      this.#database.exec(`ROLLBACK TO ${name}; RELEASE ${name}`)
      this.alarm = alarm
      this.#hasKeyValueTable = false
      throw problem
    } finally {
      this.#depth -= 1
    }
  }

  deleteAll(): void {
    this.#beginWrite()
    this.#statements.clear()
    for (const name of this.#tables()) this.#database.exec(`DROP TABLE "${name}"`)
    this.#hasKeyValueTable = false
    this.alarm = null
  }

  /** Makes what was written durable. @param alarmRuns whether the alarm handler runs, whose alarm stays until it has succeeded */
  commit(alarmRuns: boolean): void {
    if (!this.isDirty) return
    this.#database.exec('COMMIT')
    this.isDirty = false
    if (!alarmRuns || this.alarm !== null) this.durableAlarm = this.alarm
  }

  /** Undoes what was written since the last commit. */
  rollback(): void {
    this.alarm = this.durableAlarm
    if (!this.isDirty) return
    this.#database.exec('ROLLBACK')
    this.#statements.clear()
    this.isDirty = false
    this.#hasKeyValueTable = false
  }

  /** Returns what is stored, by table. */
  dump(): Record<string, unknown[]> {
    const rowsOf = (name: string) =>
      name === '_cf_KV' ? this.list() : this.#database.prepare(`SELECT * FROM "${name}"`).all()
    return Object.fromEntries(this.#tables().map((name) => [name, rowsOf(name)]))
  }

  get isEmpty(): boolean {
    return Object.values(this.dump()).every((rows) => rows.length === 0)
  }

  close(): void {
    this.#database.close()
  }

  #beginWrite(): void {
    if (this.refusesWrite()) throw new Error('database or disk is full: SQLITE_FULL')
    if (this.isDirty) return
    this.#database.exec('BEGIN')
    this.isDirty = true
    this.onWrite()
  }

  #prepare(text: string): StatementSync {
    const known = this.#statements.get(text) ?? this.#database.prepare(text)
    this.#statements.set(text, known)
    return known
  }

  #findKeyValueTable(): boolean {
    this.#hasKeyValueTable ||= this.#prepare("SELECT 1 FROM sqlite_master WHERE name = '_cf_KV'").get() !== undefined
    return this.#hasKeyValueTable
  }

  #tables(): string[] {
    const rows = this.#database.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").all()
    return rows.map(({ name }) => String(name)).filter((name) => !name.startsWith('sqlite_'))
  }
}

/** `returning`: a write that returns the rows that it has written. `schema`: changes of tables, which are several statements in one text. */
type StatementKind = 'read' | 'write' | 'returning' | 'schema'

const kinds = new Map<string, StatementKind>()

function kindOf(text: string): StatementKind {
  const known = kinds.get(text)
  if (known) return known
  const kind = readKind(text)
  kinds.set(text, kind)
  return kind
}

function readKind(text: string): StatementKind {
  if (/^\s*(?:SELECT|PRAGMA)/i.test(text)) return 'read'
  if (/^\s*(?:CREATE|DROP|ALTER)/i.test(text) || /;\s*\S/.test(text)) return 'schema'
  return /\bRETURNING\b/i.test(text) ? 'returning' : 'write'
}

type ListOptions = { prefix?: string; start?: string; limit?: number; reverse?: boolean }

const sizeOf = (value: SqlValue): number => {
  if (typeof value === 'string') return Buffer.byteLength(value)
  return typeof value === 'object' && value !== null ? value.byteLength : 0
}

/** Blobs are `ArrayBuffer`, as on the platform. */
function withBuffers(row: Row): Row {
  for (const [key, value] of Object.entries(row)) {
    if (!(value instanceof Uint8Array)) continue
    const { buffer, byteOffset, byteLength } = value
    row[key] = buffer.slice(byteOffset, byteOffset + byteLength)
  }
  return row
}
