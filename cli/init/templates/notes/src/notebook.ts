import { DurableObject, exports } from 'cloudflare:workers'

/** Where the notes are: one SQLite database. */
export class Notebook extends DurableObject {
  readonly #sql = this.ctx.storage.sql

  constructor(ctx: DurableObjectState, env: never) {
    super(ctx, env)
    this.#sql.exec('CREATE TABLE IF NOT EXISTS notes (id TEXT PRIMARY KEY, text TEXT NOT NULL)')
  }

  ids(): string[] {
    return idsOf(this.#sql.exec<{ id: string }>('SELECT id FROM notes ORDER BY id'))
  }

  read(id: string): string | undefined {
    return this.#sql.exec<{ text: string }>('SELECT text FROM notes WHERE id = ?', id).toArray()[0]?.text
  }

  /** True when the note is new. */
  write(id: string, text: string): boolean {
    const isNew = this.read(id) === undefined
    this.#sql.exec('INSERT OR REPLACE INTO notes (id, text) VALUES (?, ?)', id, text)
    return isNew
  }

  search(query: string): string[] {
    const found = 'SELECT id FROM notes WHERE instr(lower(text), lower(?)) > 0 ORDER BY id LIMIT 50'
    return idsOf(this.#sql.exec<{ id: string }>(found, query))
  }
}

const idsOf = (rows: Iterable<{ id: string }>) => [...rows].map(({ id }) => id)

/** The one notebook of this server. */
export const notebook = (): DurableObjectStub<Notebook> =>
  (exports as unknown as { Notebook: DurableObjectNamespace<Notebook> }).Notebook.getByName('notes')
