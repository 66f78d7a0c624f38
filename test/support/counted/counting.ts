/** Counts what is billed: calls of a Durable Object, and its use of storage. */
import { keptBack } from './clock.ts'
import type { Tally } from './tally.ts'

type Method = (this: unknown, ...args: unknown[]) => unknown
type ObjectClass<Instance extends object = object> = { readonly prototype: Instance }

/** The counter of a call of these methods. Every other method is an RPC call. */
const handlers: Readonly<Record<string, keyof Tally>> = {
  fetch: 'feeds',
  alarm: 'alarmsRun',
  webSocketMessage: 'messages',
}

/** Calls in the constructor come from the object itself, and are not counted. */
let isInside = false

/** Counts calls from outside, of every method that `Base` has for the runtime or for RPC. */
export function countCalls<Instance extends object>(
  Counted: ObjectClass<Instance>,
  Base: ObjectClass,
  tally: Tally | ((object: Instance) => Tally),
): void {
  // Without a handler, incoming messages would not be counted.
  const names = new Set(['webSocketMessage'])
  for (let level = Base.prototype; level.constructor.name !== 'DurableObject'; level = Object.getPrototypeOf(level)) {
    for (const name of Object.getOwnPropertyNames(level)) names.add(name)
  }
  for (const free of ['constructor', 'webSocketClose']) names.delete(free)
  for (const name of names) {
    const method = Reflect.get(Counted.prototype, name) as Method | undefined
    const unit = handlers[name] ?? 'calls'
    const counted = async function (this: Instance, ...args: unknown[]) {
      const outer = isInside
      if (!outer) (typeof tally === 'function' ? tally(this) : tally)[unit] += 1
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

/**
 * The state of an object with a storage that counts. Operations that are not counted throw an error.
 *
 * @param onAlarm called with the time of each alarm that is set, in milliseconds since 1970; such alarms run when they are due. Default:
 * they are delayed until a test advances the clock
 */
export function countStorage(
  state: DurableObjectState,
  tally: Tally,
  onAlarm?: (time: number) => void,
): DurableObjectState {
  const { storage } = state
  const delay = onAlarm ? 0 : keptBack
  const counted = strict('storage', {
    sql: countSql(storage.sql, tally),
    kv: countKeys(storage.kv, tally),
    async getAlarm() {
      const time = await storage.getAlarm()
      return time === null ? null : time - delay
    },
    setAlarm(time: number) {
      tally.alarmsSet += 1
      tally.rowsWritten += 1
      onAlarm?.(time)
      return storage.setAlarm(time + delay)
    },
    transactionSync: <T>(perform: () => T) => storage.transactionSync(perform),
    sync: () => storage.sync(),
    // Its price is not documented.
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
    list(options?: SyncKvListOptions) {
      const entries = [...kv.list(options)]
      tally.rowsRead += entries.length
      return entries
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
    // The platform answers without reading a row.
    get databaseSize() {
      return sql.databaseSize
    },
    exec(query: string, ...values: unknown[]) {
      // Skips tables of the local runtime, which a deployed object does not have.
      if (query.includes('__miniflare_')) return sql.exec('SELECT 1 LIMIT 0')
      // A cursor has the rows of its last statement only.
      const statements = query.split(/;\s+(?=[A-Z])/)
      return statements.map((statement) => countRows(sql.exec(statement, ...values), tally)).at(-1)
    },
  })

/** A cursor that counts the rows that are read from it. */
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

/** Throws an error for an operation that is not counted. */
const strict = <T extends object>(name: string, counted: T): T =>
  new Proxy(counted, {
    get(target, property) {
      if (property in target) return Reflect.get(target, property)
      throw new Error(`${name}.${String(property)} is not counted yet: count it in counting.ts`)
    },
  })
