import { env } from 'cloudflare:workers'

/** Notes in the D1 database `DB`. `migrations/` has the table. */

export async function listNoteIds(): Promise<string[]> {
  const { results } = await env.DB.prepare('SELECT id FROM notes ORDER BY id LIMIT 1000').all<{ id: string }>()
  return results.map(({ id }) => id)
}

/** Returns the text of a note, or undefined if there is no such note. */
export async function readNote(id: string): Promise<string | undefined> {
  const text = await env.DB.prepare('SELECT text FROM notes WHERE id = ?').bind(id).first<string>('text')
  return text ?? undefined
}

/** Writes a note, and returns whether it is new. */
export async function writeNote(id: string, text: string): Promise<boolean> {
  const [existing] = await env.DB.batch([
    env.DB.prepare('SELECT 1 FROM notes WHERE id = ?').bind(id),
    env.DB.prepare('INSERT OR REPLACE INTO notes (id, text) VALUES (?, ?)').bind(id, text),
  ])
  return existing?.results.length === 0
}

export async function searchNotes(words: string): Promise<string[]> {
  const query = 'SELECT id FROM notes WHERE instr(lower(text), lower(?)) > 0 ORDER BY id LIMIT 50'
  const { results } = await env.DB.prepare(query).bind(words).all<{ id: string }>()
  return results.map(({ id }) => id)
}
