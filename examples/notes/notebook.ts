import { DurableObject, exports } from 'cloudflare:workers'

type Note = { id: string; title: string; text: string }

/** Where the notes are: one SQLite database. Table `notes`: `id`, `title`, `text`; kept until overwritten. */
export class Notebook extends DurableObject {
  readonly #sql = this.ctx.storage.sql

  constructor(ctx: DurableObjectState, env: never) {
    super(ctx, env)
    this.#sql.exec('CREATE TABLE IF NOT EXISTS notes (id TEXT PRIMARY KEY, title TEXT NOT NULL, text TEXT NOT NULL)')
  }

  list(): Pick<Note, 'id' | 'title'>[] {
    return this.#sql.exec<Pick<Note, 'id' | 'title'>>('SELECT id, title FROM notes ORDER BY id').toArray()
  }

  ids(prefix: string): string[] {
    return this.list()
      .map(({ id }) => id)
      .filter((id) => id.startsWith(prefix))
  }

  read(id: string): Note | undefined {
    return this.#sql.exec<Note>('SELECT id, title, text FROM notes WHERE id = ?', id).toArray()[0]
  }

  /** True when the note is new. */
  write(id: string, text: string): boolean {
    const isNew = this.read(id) === undefined
    const title = text.split('\n', 1)[0]?.replace(/^#+\s*/, '') || id
    this.#sql.exec('INSERT OR REPLACE INTO notes (id, title, text) VALUES (?, ?, ?)', id, title, text)
    return isNew
  }

  search(query: string): Pick<Note, 'id' | 'title'>[] {
    return this.#sql
      .exec<Pick<Note, 'id' | 'title'>>(
        'SELECT id, title FROM notes WHERE instr(lower(text), lower(?)) > 0 ORDER BY id LIMIT 50',
        query,
      )
      .toArray()
  }
}

/** The one notebook of this server. */
export const notebook = (): DurableObjectStub<Notebook> =>
  (exports as unknown as { Notebook: DurableObjectNamespace<Notebook> }).Notebook.getByName('notes')
