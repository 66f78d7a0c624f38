/** Reads the storage of a Durable Object, for the inspector. */

export type Table = {
  readonly name: string
  readonly columns: readonly string[]
  /** The latest rows. */
  readonly rows: readonly (readonly unknown[])[]
  /** Number of all rows. */
  readonly total: number
}

export type Contents = {
  readonly values: readonly (readonly [key: string, value: unknown])[]
  readonly tables: readonly Table[]
  /** Milliseconds since 1970. */
  readonly alarm: number | null
}

/** The method that every object gets in development. */
export interface RowsRpc {
  edgemcpRows(): Promise<Contents>
}

type Instance = { readonly ctx: DurableObjectState }

/** Rows of a table that the page shows, and characters of a text. */
const mostRows = 200
const mostCharacters = 2000

/** Adds a method to every object that returns its storage. @param base the base class of all objects */
export function exposeStorage(base: { prototype: object }): void {
  const edgemcpRows = function (this: Instance): Promise<Contents> {
    return contentsOf(this.ctx.storage)
  }
  Object.defineProperty(base.prototype, 'edgemcpRows', { value: edgemcpRows, configurable: true })
}

async function contentsOf(storage: DurableObjectStorage): Promise<Contents> {
  const { kv, sql } = storage
  const values = [...kv.list({ limit: mostRows })].map(
    ([key, value]) => [key, isKeyRing(key, value) ? '(not shown)' : plain(value)] as const,
  )
  const tables = sql
    .exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB '_*' ORDER BY name")
    .toArray()
    .filter(({ name }) => !name.startsWith('sqlite_'))
    .map(({ name }) => tableOf(sql, name))
  return { values, tables, alarm: await storage.getAlarm() }
}

/** Whether a value is a key ring, which is never shown: with it, everything that the server seals could be read and written. */
const isKeyRing = (key: string, value: unknown): boolean =>
  key === 'keys' || (typeof value === 'object' && value !== null && 'current' in value && 'keys' in value)

function tableOf(sql: SqlStorage, name: string): Table {
  const quoted = `"${name.replaceAll('"', '""')}"`
  const { total } = sql.exec<{ total: number }>(`SELECT count(*) AS total FROM ${quoted}`).one()
  const cursor = sql.exec(`SELECT * FROM ${quoted} LIMIT ? OFFSET ?`, mostRows, Math.max(0, total - mostRows))
  const columns = [...cursor.columnNames]
  const rows = [...cursor.raw()].map((row) => row.map(plain))
  return { name, columns, rows, total }
}

/** Converts a value into JSON. */
function plain(value: unknown): unknown {
  if (typeof value === 'string') return shortened(value)
  if (typeof value === 'bigint' || value === undefined) return String(value)
  if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) return `${value.byteLength} bytes`
  if (value instanceof Map) return plain(Object.fromEntries(value))
  if (value instanceof Set || Array.isArray(value)) return [...value].map(plain)
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)]))
}

const shortened = (text: string): string =>
  text.length > mostCharacters ? `${text.slice(0, mostCharacters)}… (${text.length} characters)` : text
