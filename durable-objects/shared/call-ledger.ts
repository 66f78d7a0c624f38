/**
 * The calls of a session that have a stream. Each is stored before it sends anything, so that it gets an end even if the object is lost.
 * While a call waits for input responses, only its row exists.
 *
 * | table       | column     | meaning                                                        | lifetime              |
 * |-------------|------------|----------------------------------------------------------------|-----------------------|
 * | `calls`     | `id`       | one call, never reused                                         | until it is answered or cancelled |
 * |             | `request`  | the key of its JSON-RPC id, to cancel it by                    |                       |
 * |             | `call`     | `LedgerCall` as JSON: the request, its stream, its journal     |                       |
 * |             | `due`      | milliseconds since 1970: when its input requests time out      |                       |
 * | `questions` | `id`       | one input request, never reused; the client sees `ask-<id>`    | until it is answered  |
 * |             | `call`, `key` | the call, and the key of the input request in it            |                       |
 */

import type { Admitted } from '../../worker/declarations/endpoints.ts'
import { type Answer, type Journal, withAnswers } from '../../worker/engine/journal.ts'
import type { NegotiatedSession } from '../../worker/engine/methods/method.ts'
import type { McpError } from '../../worker/protocol/errors.ts'
import type { RequestMessage } from '../../worker/protocol/jsonrpc.ts'
import type { RequestId } from '../../worker/protocol/types.ts'
import { checkSize, maxRowBytes, tooLarge } from './message-size.ts'
import { type SkippedIds, Tables } from './tables.ts'

export type LedgerCall = {
  request: RequestMessage
  stream: number
  journal: Journal
  handshake: NegotiatedSession
  /** The id in `ctx.session`. */
  session: string
  /** Identity of the endpoint that received the call. */
  identity: string
  /** Whether the call has a principal, which is not stored. */
  isPersonal: boolean
  /** Data about the endpoint that admitted it. Absent in a row of an older release. */
  admitted?: Admitted
  /** Scopes that a token needs to answer its input requests, or to cancel it. Absent: none. */
  scopes?: readonly string[]
  /** How often the call ran again because the object was lost. */
  repeats: number
}

const schema = `
  CREATE TABLE calls (id INTEGER PRIMARY KEY AUTOINCREMENT, request TEXT, call TEXT, due INTEGER);
  CREATE TABLE questions (id INTEGER PRIMARY KEY AUTOINCREMENT, call INTEGER, key TEXT);
`

export class CallLedger {
  readonly #tables: Tables
  readonly #sql: SqlStorage
  readonly #skippedIds: SkippedIds
  /** Calls that were stored in this turn, by their row. */
  readonly #unwritten = new Map<number, LedgerCall>()
  /** The highest row so far. */
  #lastRow: number | undefined

  constructor(sql: SqlStorage, skippedIds: SkippedIds = () => 0) {
    this.#skippedIds = skippedIds
    this.#sql = sql
    this.#tables = new Tables(sql, 'calls', schema)
  }

  /** Called after the storage was deleted. */
  reset(): void {
    this.#tables.reset()
    this.#unwritten.clear()
    this.#lastRow = undefined
  }

  /** Stores a call, with the next `write()`. Returns its row. */
  begin(call: LedgerCall): number {
    this.check(call)
    if (this.#tables.create()) {
      const skipped = this.#skippedIds()
      for (const table of ['calls', 'questions']) this.#tables.skipIds(table, skipped)
    }
    this.#lastRow ??= this.#query<{ seq: number }>("SELECT seq FROM sqlite_sequence WHERE name = 'calls'")[0]?.seq ?? 0
    const row = ++this.#lastRow
    this.#unwritten.set(row, call)
    return row
  }

  /** Writes the calls of this turn that have not ended. Called before each read, and before a call sends anything. */
  write(): void {
    if (this.#unwritten.size === 0) return
    for (const [row, call] of this.#unwritten) {
      const key = requestKey(call.request.id)
      this.#sql.exec('INSERT INTO calls (id, request, call) VALUES (?, ?, ?)', row, key, rowOf(call))
    }
    this.#unwritten.clear()
  }

  /** Writes, then returns the rows of a statement. */
  #query<Row extends Record<string, SqlStorageValue>>(statement: string, ...bindings: SqlStorageValue[]): Row[] {
    this.write()
    return this.#tables.query<Row>(statement, ...bindings)
  }

  /** Checks that a call fits into a row. @throws McpError when it does not */
  check(call: LedgerCall): void {
    rowOf(call)
  }

  /** @param due milliseconds since 1970: until when the call waits for input responses */
  rewrite(row: number, call: LedgerCall, due: number | null = null): void {
    this.write()
    this.#sql.exec('UPDATE calls SET call = ?, due = ifnull(?, due) WHERE id = ?', rowOf(call), due, row)
  }

  /** Returns the calls whose input requests have timed out. */
  overdue(now: number): { row: number; call: LedgerCall }[] {
    return this.#select('due <= ? AND id IN (SELECT call FROM questions)', now)
  }

  /** Returns the calls that wait for input responses on behalf of a task. */
  askingFor(taskId: string): { row: number; call: LedgerCall }[] {
    return this.#select(
      "call ->> '$.request.method' LIKE 'tasks/%' AND call ->> '$.request.params.taskId' = ? AND id IN (SELECT call FROM questions)",
      taskId,
    )
  }

  /** Milliseconds since 1970: when the first input request times out; `Infinity` without open input requests. */
  get due(): number {
    const [first] = this.#query<{ due: number | null }>(
      'SELECT min(due) AS due FROM calls WHERE id IN (SELECT call FROM questions)',
    )
    return first?.due ?? Number.POSITIVE_INFINITY
  }

  /** Deletes a call. Returns the ids of its open input requests, as the client knows them. */
  end(row: number): string[] {
    // It has no input requests.
    if (this.#unwritten.delete(row)) return []
    this.#sql.exec('DELETE FROM calls WHERE id = ?', row)
    const open = this.#query<{ id: number }>('DELETE FROM questions WHERE call = ? RETURNING id', row)
    return open.map(({ id }) => `ask-${id}`)
  }

  /** Stores input requests of a call. Returns the id that the client sees, by key. */
  ask(row: number, keys: readonly string[]): Map<string, string> {
    this.write()
    return new Map(
      keys.map((key) => {
        const question = this.#sql
          .exec<{ id: number }>('INSERT INTO questions (call, key) VALUES (?, ?) RETURNING id', row, key)
          .one()
        return [key, `ask-${question.id}`]
      }),
    )
  }

  /** Returns the scopes that a token needs to answer an input request. */
  scopesOf(question: RequestId): readonly string[] {
    const id = questionRow(question)
    if (id === undefined) return []
    const [entry] = this.#select('id = (SELECT call FROM questions WHERE id = ?)', id)
    return entry?.call.scopes ?? []
  }

  /** Returns the scopes that a token needs to cancel a waiting call. */
  scopesToCancel(request: RequestId): readonly string[] {
    const [entry] = this.#select('request = ?', requestKey(request))
    return entry?.call.scopes ?? []
  }

  /** Returns the call and the key of an open input request; `undefined` if it is not open. */
  question(question: RequestId): { key: string; call: LedgerCall } | undefined {
    const id = questionRow(question)
    if (id === undefined) return undefined
    const [open] = this.#query<{ call: number; key: string }>('SELECT call, key FROM questions WHERE id = ?', id)
    const [entry] = open ? this.#select('id = ?', open.call) : []
    return open && entry && { key: open.key, call: entry.call }
  }

  /**
   * Stores an input response. Returns the call if this was the last response that it waited for; `undefined` if it waits for others, or if
   * the input request is not open. `problem`: with the response, the call does not fit into a row, so it must end.
   */
  answer(question: RequestId, answer: Answer): { row: number; call: LedgerCall; problem?: McpError } | undefined {
    const id = questionRow(question)
    if (id === undefined) return undefined
    const [open] = this.#query<{ call: number; key: string }>(
      'DELETE FROM questions WHERE id = ? RETURNING call, key',
      id,
    )
    const [entry] = open ? this.#select('id = ?', open.call) : []
    if (!open || !entry) return undefined
    const { row, call } = entry
    const answered = { ...call, journal: withAnswers(call.journal, { [open.key]: answer }) }
    const problem = tooLarge('The call with its answers', JSON.stringify(answered), maxRowBytes)
    if (problem) return { row, call, problem }
    this.rewrite(row, answered)
    return this.#waits(row) ? undefined : { row, call: answered }
  }

  #waits(row: number): boolean {
    return this.#query('SELECT 1 FROM questions WHERE call = ? LIMIT 1', row).length > 0
  }

  /** Whether there is a call without a reply. */
  get isOpen(): boolean {
    return this.#query('SELECT 1 FROM calls LIMIT 1').length > 0
  }

  has(request: RequestId): boolean {
    return this.#query('SELECT 1 FROM calls WHERE request = ?', requestKey(request)).length > 0
  }

  /** Deletes a waiting call. Returns its stream and its open input requests. */
  cancel(request: RequestId): { stream: number; questions: string[] } | undefined {
    const [entry] = this.#select('request = ?', requestKey(request))
    if (!entry || !this.#waits(entry.row)) return undefined
    return { stream: entry.call.stream, questions: this.end(entry.row) }
  }

  /** Returns the requests of calls that wait for their client. */
  waiting(): RequestMessage[] {
    return this.#select('id IN (SELECT call FROM questions)').map(({ call }) => call.request)
  }

  /** Returns the calls without open input requests: in a new instance, those that were running in the last one. */
  unasked(): { row: number; call: LedgerCall }[] {
    return this.#select('id NOT IN (SELECT call FROM questions)')
  }

  #select(where: string, ...bindings: SqlStorageValue[]): { row: number; call: LedgerCall }[] {
    const sql = `SELECT id AS row, call FROM calls WHERE ${where}`
    return this.#query<{ row: number; call: string }>(sql, ...bindings).map(({ row, call }) => ({
      row,
      call: JSON.parse(call),
    }))
  }
}

function questionRow(question: RequestId): number | undefined {
  const id = typeof question === 'string' ? /^ask-([1-9]\d{0,14})$/.exec(question)?.[1] : undefined
  return id === undefined ? undefined : Number(id)
}

/** @throws McpError when the call is larger than a row */
function rowOf(call: LedgerCall): string {
  const text = JSON.stringify(call)
  checkSize('The call', text, maxRowBytes)
  return text
}

/** Returns a text for a JSON-RPC id: the ids 1 and "1" differ. */
export const requestKey = (id: RequestId): string => JSON.stringify(id)
