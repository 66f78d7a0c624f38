/**
 * Calls that wait for a client's answers. Nothing runs for them: they are rows, so they survive the object.
 *
 * | table       | column     | meaning                                                        | lifetime              |
 * |-------------|------------|----------------------------------------------------------------|-----------------------|
 * | `calls`     | `id`       | one call                                                       | until it is answered or cancelled |
 * |             | `request`  | the key of its JSON-RPC id, to cancel it by                    |                       |
 * |             | `parked`   | `ParkedCall` as JSON: the request, its stream, its memo        |                       |
 * | `questions` | `id`       | one question; the client sees the id `ask-<id>`, never reused  | until it is answered  |
 * |             | `call`, `key` | which question of which call                                |                       |
 */
import type { Handshake } from '../worker/engine/handshake.ts'
import { type Answer, type Memo, withAnswers } from '../worker/engine/memo.ts'
import type { RequestMessage } from '../worker/protocol/jsonrpc.ts'
import type { RequestId } from '../worker/protocol/types.ts'

export type ParkedCall = {
  request: RequestMessage
  stream: number
  memo: Memo
  handshake: Handshake
  /** What `ctx.session` says. */
  session: string
}

export class ParkedCalls {
  readonly #sql: SqlStorage
  #exists: boolean | undefined

  constructor(sql: SqlStorage) {
    this.#sql = sql
  }

  /** Parks a call with its open questions. Returns the id the client sees for each key. */
  park(call: ParkedCall, keys: readonly string[]): Map<string, string> {
    this.#create()
    const { id } = this.#sql
      .exec<{ id: number }>(
        'INSERT INTO calls (request, parked) VALUES (?, ?) RETURNING id',
        requestKey(call.request.id),
        JSON.stringify(call),
      )
      .one()
    return new Map(
      keys.map((key) => {
        const question = this.#sql
          .exec<{ id: number }>('INSERT INTO questions (call, key) VALUES (?, ?) RETURNING id', id, key)
          .one()
        return [key, `ask-${question.id}`]
      }),
    )
  }

  /**
   * Writes an answer down. Returns the call when it was the last one it waited for; it is parked no more. `undefined`
   * when the call waits for others, or nobody asked.
   */
  answer(question: RequestId, answer: Answer): ParkedCall | undefined {
    const id = typeof question === 'string' ? /^ask-([1-9]\d{0,14})$/.exec(question)?.[1] : undefined
    if (!id || !this.#has()) return undefined
    const [row] = this.#sql
      .exec<{ call: number; key: string }>('DELETE FROM questions WHERE id = ? RETURNING call, key', Number(id))
      .toArray()
    if (!row) return undefined
    const { parked } = this.#sql.exec<{ parked: string }>('SELECT parked FROM calls WHERE id = ?', row.call).one()
    const call: ParkedCall = JSON.parse(parked)
    call.memo = withAnswers(call.memo, { [row.key]: answer })
    if (this.#sql.exec('SELECT 1 FROM questions WHERE call = ? LIMIT 1', row.call).toArray().length > 0) {
      this.#sql.exec('UPDATE calls SET parked = ? WHERE id = ?', JSON.stringify(call), row.call)
      return undefined
    }
    this.#sql.exec('DELETE FROM calls WHERE id = ?', row.call)
    return call
  }

  has(request: RequestId): boolean {
    if (!this.#has()) return false
    return this.#sql.exec('SELECT 1 FROM calls WHERE request = ?', requestKey(request)).toArray().length > 0
  }

  /** Forgets a call. Returns it with the questions that were still open. */
  cancel(request: RequestId): { call: ParkedCall; questions: string[] } | undefined {
    if (!this.#has()) return undefined
    const [row] = this.#sql
      .exec<{ id: number; parked: string }>(
        'DELETE FROM calls WHERE request = ? RETURNING id, parked',
        requestKey(request),
      )
      .toArray()
    if (!row) return undefined
    const questions = this.#sql
      .exec<{ id: number }>('DELETE FROM questions WHERE call = ? RETURNING id', row.id)
      .toArray()
      .map(({ id }) => `ask-${id}`)
    return { call: JSON.parse(row.parked), questions }
  }

  /** The storage has been deleted. */
  forget(): void {
    this.#exists = false
  }

  #has(): boolean {
    this.#exists ??= this.#sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'calls'").toArray().length > 0
    return this.#exists
  }

  #create(): void {
    if (this.#has()) return
    this.#sql.exec(`
      CREATE TABLE calls (id INTEGER PRIMARY KEY, request TEXT NOT NULL, parked TEXT NOT NULL);
      CREATE TABLE questions (id INTEGER PRIMARY KEY AUTOINCREMENT, call INTEGER NOT NULL, key TEXT NOT NULL);
    `)
    this.#exists = true
  }
}

/** Ids 1 and "1" are different. */
export const requestKey = (id: RequestId): string => JSON.stringify(id)
