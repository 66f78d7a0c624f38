/** What a Durable Object has in its storage. */

export type Table = {
  readonly name: string
  readonly columns: readonly string[]
  /** The last of them. */
  readonly rows: readonly (readonly unknown[])[]
  /** How many there are. */
  readonly total: number
}

export type Contents = {
  readonly values: readonly (readonly [key: string, value: unknown])[]
  readonly tables: readonly Table[]
  /** Milliseconds since 1970. */
  readonly alarm: number | null
}

/** What may be asked of every object. */
export interface RowsRpc {
  edgemcpRows(): Promise<Contents>
}

type Instance = { readonly ctx: DurableObjectState }

/** Rows of a table, and characters of a text: nobody reads more of them on a page. */
const mostRows = 200
const mostCharacters = 2000

/** From now on every object tells what it stores. @param base the class that all are of */
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

/** Whoever has a key ring can read and write what the server seals, so none is shown, whichever class has it. */
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

/** As JSON can say it. */
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
