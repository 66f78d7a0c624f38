/** Ids up to this one may have been handed out by an earlier life of the object. 0: none. */
export type SkippedIds = () => number

/** Tables that are made when the first row is written: an object that never needs them has none. */
export class Tables {
  readonly #sql: SqlStorage
  readonly #first: string
  readonly #schema: string
  #exist: boolean | undefined

  /**
   * @param first the name of one of them
   * @param schema the statements that make them
   */
  constructor(sql: SqlStorage, first: string, schema: string) {
    this.#sql = sql
    this.#first = first
    this.#schema = schema
  }

  get exists(): boolean {
    this.#exist ??= this.#sql.exec('SELECT 1 FROM sqlite_master WHERE name = ?', this.#first).toArray().length > 0
    return this.#exist
  }

  /** True when they were not there before. */
  create(): boolean {
    if (this.exists) return false
    this.#sql.exec(this.#schema)
    this.#exist = true
    return true
  }

  /** From now on the ids of a table with AUTOINCREMENT are greater than this. */
  skipIds(table: string, id: number): void {
    if (id === 0) return
    // The highest id ever is remembered after its row is gone.
    this.#sql.exec(`INSERT INTO ${table} (id) VALUES (?)`, id)
    this.#sql.exec(`DELETE FROM ${table} WHERE id = ?`, id)
  }

  /** The rows that a statement returns: none as long as there are no tables. */
  query<Row extends Record<string, SqlStorageValue>>(statement: string, ...bindings: SqlStorageValue[]): Row[] {
    return this.exists ? this.#sql.exec<Row>(statement, ...bindings).toArray() : []
  }

  /** The row that a statement with `RETURNING` writes. The tables exist. */
  write<Row extends Record<string, SqlStorageValue>>(statement: string, ...bindings: SqlStorageValue[]): Row {
    return this.#sql.exec<Row>(statement, ...bindings).one()
  }

  /** The storage has been deleted. */
  reset(): void {
    this.#exist = false
  }
}
