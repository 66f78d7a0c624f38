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
    const drop = ({ type, name }: Entry) => void sql.exec(`DROP ${type} IF EXISTS ${name}`)
    // A virtual table drops the tables that it has.
    const isFirst = ({ type, sql }: Entry) => type !== 'table' || sql?.startsWith('CREATE VIRTUAL')
    entries.filter(isFirst).forEach(drop)
    const parents = entries.filter((entry) => {
      try {
        // The platform does not count the rows of a table that is dropped as written.
        return drop(entry)
      } catch {
        return true
      }
    })
    sql.exec('PRAGMA defer_foreign_keys = on')
    for (const { name } of parents) sql.exec(`DELETE FROM ${name}`)
    parents.forEach(drop)
    write()
  })
}
