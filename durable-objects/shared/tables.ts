/** Returns the highest id that an earlier life of the object may have used; 0 without one. */
export type SkippedIds = () => number

/** Tables that are created with the first row: an object that never writes one has none. */
export class Tables {
  readonly #sql: SqlStorage
  readonly #first: string
  readonly #schema: string
  #exist: boolean | undefined

  /**
   * @param first the name of one of them
   * @param schema the statements that create them
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

  /** Creates the tables. Returns true if they did not exist. */
  create(): boolean {
    if (this.exists) return false
    this.#sql.exec(this.#schema)
    this.#exist = true
    return true
  }

  /** Makes the next ids of a table with AUTOINCREMENT greater than this. */
  skipIds(table: string, id: number): void {
    if (id === 0) return
    // SQLite stores the highest id, also after its row is deleted.
    this.#sql.exec(`INSERT INTO ${table} (id) VALUES (?)`, id)
    this.#sql.exec(`DELETE FROM ${table} WHERE id = ?`, id)
  }

  /** Returns the rows of a statement: none before the tables exist. */
  query<Row extends Record<string, SqlStorageValue>>(statement: string, ...bindings: SqlStorageValue[]): Row[] {
    return this.exists ? this.#sql.exec<Row>(statement, ...bindings).toArray() : []
  }

  /** Returns the row that a statement with `RETURNING` writes. The tables must exist. */
  write<Row extends Record<string, SqlStorageValue>>(statement: string, ...bindings: SqlStorageValue[]): Row {
    return this.#sql.exec<Row>(statement, ...bindings).one()
  }

  /** Called after the storage was deleted. */
  reset(): void {
    this.#exist = false
  }
}
