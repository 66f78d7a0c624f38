type Entry = { type: string; name: string; sql: string | null }

/**
 * Deletes what an object stores, and stores something in its place: both or, when a write is refused or the object is lost meanwhile, neither.
 * `deleteAll` cannot be undone, so what follows it could be lost.
 */
export function replaceAll(storage: DurableObjectStorage, write: () => void): void {
  const { kv, sql } = storage
  storage.transactionSync(() => {
    for (const [key] of [...kv.list()]) kv.delete(key)
    // Children before parents, which cannot be dropped while rows refer to theirs.
    const entries = sql
      .exec<Entry>("SELECT type, name, sql FROM sqlite_master WHERE type <> 'index' ORDER BY rowid DESC")
      .toArray()
      .filter(({ name }) => !/^(_cf|sqlite|__miniflare)_/.test(name))
      .map(({ name, ...entry }) => ({ ...entry, name: `"${name.replaceAll('"', '""')}"` }))
    const isDropped = ({ type, name }: Entry) => {
      try {
        sql.exec(`DROP ${type} IF EXISTS ${name}`)
        return true
      } catch {
        return false
      }
    }
    // A virtual table drops the tables that it has.
    const isFirst = ({ type, sql }: Entry) => type !== 'table' || sql?.startsWith('CREATE VIRTUAL')
    entries.filter(isFirst).forEach(isDropped)
    // The platform does not count the rows of a table that is dropped as written.
    const remaining = entries.filter((entry) => entry.type === 'table' && !isDropped(entry))
    sql.exec('PRAGMA defer_foreign_keys = on')
    for (const { name } of remaining) sql.exec(`DELETE FROM ${name}`)
    // A table that a cursor still reads remains, empty, until everything is deleted.
    remaining.forEach(isDropped)
    write()
  })
}
