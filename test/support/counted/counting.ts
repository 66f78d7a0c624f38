/** Counts what is billed, where it passes: calls into an object, and what it does with its storage. */
import { keptBack } from './clock.ts'
import type { Tally } from './tally.ts'

type Method = (this: unknown, ...args: unknown[]) => unknown
type ObjectClass = { readonly prototype: object }

/** What a call of these counts as; any other method is called over RPC. */
const handlers: Readonly<Record<string, keyof Tally>> = {
  fetch: 'feeds',
  alarm: 'alarmsRun',
  webSocketMessage: 'messages',
}

/** What an object does as it begins a call is not called from outside. */
let isInside = false

/** Counts the calls of every method that `Base` has for the runtime or for RPC, from outside. */
export function countCalls(Counted: ObjectClass, Base: ObjectClass, tally: Tally): void {
  // Without a handler, messages would come in unseen.
  const names = new Set(['webSocketMessage'])
  for (let level = Base.prototype; level.constructor.name !== 'DurableObject'; level = Object.getPrototypeOf(level)) {
    for (const name of Object.getOwnPropertyNames(level)) names.add(name)
  }
  for (const free of ['constructor', 'webSocketClose']) names.delete(free)
  for (const name of names) {
    const method = Reflect.get(Counted.prototype, name) as Method | undefined
    const unit = handlers[name] ?? 'calls'
    const counted: Method = async function (...args) {
      const outer = isInside
      if (!outer) tally[unit] += 1
      isInside = true
      try {
        return method?.apply(this, args)
      } finally {
        isInside = outer
      }
    }
    Object.defineProperty(Counted.prototype, name, { value: counted, configurable: true })
  }
}

/** The same object's state, with a storage that counts. Whatever is not counted here cannot be used. */
export function countStorage(state: DurableObjectState, tally: Tally): DurableObjectState {
  const { storage } = state
  const counted = strict('storage', {
    sql: countSql(storage.sql, tally),
    kv: countKeys(storage.kv, tally),
    async getAlarm() {
      const time = await storage.getAlarm()
      return time === null ? null : time - keptBack
    },
    setAlarm(time: number) {
      tally.alarmsSet += 1
      tally.rowsWritten += 1
      return storage.setAlarm(time + keptBack)
    },
    // Its price is nowhere to be read.
    deleteAll: () => storage.deleteAll(),
  })
  Object.defineProperty(state, 'storage', { value: counted })
  return state
}

const countKeys = (kv: SyncKvStorage, tally: Tally) =>
  strict('storage.kv', {
    get(key: string) {
      tally.rowsRead += 1
      return kv.get(key)
    },
    put(key: string, value: unknown) {
      tally.rowsWritten += 1
      kv.put(key, value)
    },
    delete(key: string) {
      tally.rowsWritten += 1
      return kv.delete(key)
    },
  })

const countSql = (sql: SqlStorage, tally: Tally) =>
  strict('storage.sql', {
    // The platform knows it without reading a row.
    get databaseSize() {
      return sql.databaseSize
    },
    exec(query: string, ...values: unknown[]) {
      // What the local runtime notes for itself would be a table that no deployed object has.
      if (query.includes('__miniflare_')) return sql.exec('SELECT 1 LIMIT 0')
      // A cursor knows the rows of its last statement only.
      const statements = query.split(/;\s+(?=[A-Z])/)
      return statements.map((statement) => countRows(sql.exec(statement, ...values), tally)).at(-1)
    },
  })

/** A cursor that counts as far as it is read. */
function countRows(cursor: SqlStorageCursor<never>, tally: Tally) {
  let [read, written] = [0, 0]
  const count = <T>(result: T): T => {
    tally.rowsRead += cursor.rowsRead - read
    tally.rowsWritten += cursor.rowsWritten - written
    read = cursor.rowsRead
    written = cursor.rowsWritten
    return result
  }
  count(undefined)
  return strict('cursor', {
    one: () => count(cursor.one()),
    toArray: () => count(cursor.toArray()),
    *[Symbol.iterator]() {
      for (const row of cursor) yield count(row)
      count(undefined)
    },
    *raw() {
      for (const row of cursor.raw()) yield count(row)
      count(undefined)
    },
  })
}

/** Fails where something is used that nobody counts, so that nothing goes uncounted. */
const strict = <T extends object>(name: string, counted: T): T =>
  new Proxy(counted, {
    get(target, property) {
      if (property in target) return Reflect.get(target, property)
      throw new Error(`${name}.${String(property)} is not counted yet: count it in counting.ts`)
    },
  })
