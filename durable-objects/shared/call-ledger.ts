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

import { type Answer, type Journal, withAnswers } from '../../worker/engine/journal.ts'
import type { NegotiatedSession } from '../../worker/engine/methods/method.ts'
import { BoundedMap } from '../../worker/protocol/bounded-map.ts'
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
  /** Whether the call has a principal, which is not stored. */
  isPersonal: boolean
  /** The tenant of the endpoint: see `Tenants`. */
  tenant?: string | undefined
  /** Scopes that a token needs to answer its input requests, or to cancel it. Absent: none. */
  scopes?: readonly string[]
  /** How often the call ran again because the object was lost. */
  repeats: number
}

/** A call, and its row. */
export type StoredCall = { readonly row: number; readonly call: LedgerCall }

const schema = `
  CREATE TABLE calls (id INTEGER PRIMARY KEY AUTOINCREMENT, request TEXT, call TEXT, due INTEGER);
  CREATE TABLE questions (id INTEGER PRIMARY KEY AUTOINCREMENT, call INTEGER, key TEXT);
`

/** What is known of a call without reading its row. */
type Entry = {
  readonly request: string
  due: number | null
  /** The keys of its open input requests, by their ids. */
  readonly questions: Map<number, string>
  isStored: boolean
}

/** Calls whose rows are not read back, because their texts are still in memory, and the characters of each. */
const [maxTexts, maxTextCharacters] = [100, 16_384]
const rememberedTexts = () => new BoundedMap<number, string>({ maxEntries: maxTexts })

export class CallLedger {
  readonly #tables: Tables
  readonly #sql: SqlStorage
  readonly #skippedIds: SkippedIds
  /** All calls, by row, once they were read. */
  #known: Map<number, Entry> | undefined
  /** Calls to be written, by row. */
  readonly #unwritten = new Map<number, string>()
  #texts = rememberedTexts()
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
    this.#known = undefined
    this.#unwritten.clear()
    this.#texts = rememberedTexts()
    this.#lastRow = undefined
  }

  get #entries(): Map<number, Entry> {
    if (!this.#known) {
      const calls = this.#tables.query<{ id: number; request: string; due: number | null }>(
        'SELECT id, request, due FROM calls ORDER BY id',
      )
      this.#known = new Map(
        calls.map(({ id, request, due }) => [id, { request, due, questions: new Map(), isStored: true }]),
      )
      const questions = this.#tables.query<{ id: number; call: number; key: string }>(
        'SELECT id, call, key FROM questions',
      )
      for (const { id, call, key } of questions) this.#known.get(call)?.questions.set(id, key)
    }
    return this.#known
  }

  /** Stores a call, with the next `write()`. Returns its row. */
  begin(call: LedgerCall): number {
    const text = rowOf(call)
    if (this.#tables.create()) {
      const skipped = this.#skippedIds()
      for (const table of ['calls', 'questions']) this.#tables.skipIds(table, skipped)
    }
    this.#lastRow ??=
      this.#tables.query<{ seq: number }>("SELECT seq FROM sqlite_sequence WHERE name = 'calls'")[0]?.seq ?? 0
    const row = ++this.#lastRow
    this.#entries.set(row, { request: requestKey(call.request.id), due: null, questions: new Map(), isStored: false })
    this.#put(row, text)
    return row
  }

  #put(row: number, text: string): void {
    this.#unwritten.set(row, text)
    if (text.length <= maxTextCharacters) this.#texts.set(row, text)
    else this.#texts.delete(row)
  }

  /** Writes the calls of this turn that have not ended. Called before a call sends anything, and at the end of the turn. */
  write(): void {
    for (const [row, text] of this.#unwritten) {
      const entry = this.#entries.get(row)
      if (!entry) continue
      const { request, due, isStored } = entry
      if (isStored) this.#sql.exec('UPDATE calls SET call = ?, due = ? WHERE id = ?', text, due, row)
      else this.#sql.exec('INSERT INTO calls (id, request, call, due) VALUES (?, ?, ?, ?)', row, request, text, due)
      entry.isStored = true
    }
    this.#unwritten.clear()
  }

  /** Checks that a call fits into a row. @throws McpError when it does not */
  check(call: LedgerCall): void {
    rowOf(call)
  }

  /** @param due milliseconds since 1970: until when the call waits for input responses */
  rewrite(row: number, call: LedgerCall, due: number | null = null): void {
    const entry = this.#entries.get(row)
    if (!entry) return
    entry.due = due ?? entry.due
    this.#put(row, rowOf(call))
    this.write()
  }

  #read(row: number): LedgerCall {
    const text =
      this.#unwritten.get(row) ??
      this.#texts.get(row) ??
      this.#sql.exec<{ call: string }>('SELECT call FROM calls WHERE id = ?', row).one().call
    return JSON.parse(text)
  }

  /** Yields the calls that wait for input responses. */
  waiting(isOne: (entry: Entry) => boolean = () => true): Generator<StoredCall, void> {
    return this.#select((entry) => entry.questions.size > 0 && isOne(entry))
  }

  /** Reads one call after another: all of them could fill the memory of the object. */
  *#select(isOne: (entry: Entry) => boolean): Generator<StoredCall, void> {
    for (const [row, entry] of this.#entries) if (isOne(entry)) yield { row, call: this.#read(row) }
  }

  /** Yields the calls whose input requests have timed out. */
  overdue(now: number): Iterable<StoredCall> {
    return this.waiting(({ due }) => due !== null && due <= now)
  }

  /** Yields the calls that wait for input responses on behalf of a task. */
  *askingFor(taskId: string): Iterable<StoredCall> {
    for (const waiting of this.waiting()) {
      const { method, params } = waiting.call.request
      if (method.startsWith('tasks/') && params?.taskId === taskId) yield waiting
    }
  }

  /** Milliseconds since 1970: when the first input request times out; `Infinity` without open input requests. */
  get due(): number {
    let first = Number.POSITIVE_INFINITY
    for (const { due, questions } of this.#entries.values())
      if (questions.size > 0) first = Math.min(first, due ?? first)
    return first
  }

  /** Deletes a call. Returns the ids of its open input requests, as the client knows them. */
  end(row: number): string[] {
    const entry = this.#entries.get(row)
    if (!entry) return []
    const open = [...entry.questions.keys()]
    if (entry.isStored) this.#sql.exec('DELETE FROM calls WHERE id = ?', row)
    if (open.length > 0) this.#sql.exec('DELETE FROM questions WHERE call = ?', row)
    for (const memory of [this.#entries, this.#unwritten, this.#texts]) memory.delete(row)
    return open.map((id) => `ask-${id}`)
  }

  /** Stores input requests of a call. Returns the id that the client sees, by key. */
  ask(row: number, keys: readonly string[]): Map<string, string> {
    return new Map(
      keys.map((key) => {
        const { id } = this.#tables.write<{ id: number }>(
          'INSERT INTO questions (call, key) VALUES (?, ?) RETURNING id',
          row,
          key,
        )
        this.#entries.get(row)?.questions.set(id, key)
        return [key, `ask-${id}`]
      }),
    )
  }

  #find(question: RequestId): { id: number; row: number; entry: Entry } | undefined {
    const id = questionRow(question)
    if (id === undefined) return undefined
    for (const [row, entry] of this.#entries) if (entry.questions.has(id)) return { id, row, entry }
    return undefined
  }

  /** Returns the scopes that a token needs to answer an input request. */
  scopesOf(question: RequestId): readonly string[] {
    return this.question(question)?.call.scopes ?? []
  }

  /** Returns the scopes that a token needs to cancel a waiting call. */
  scopesToCancel(request: RequestId): readonly string[] {
    const key = requestKey(request)
    const [entry] = this.#select((one) => one.request === key)
    return entry?.call.scopes ?? []
  }

  /** Returns the call and the key of an open input request; `undefined` if it is not open. */
  question(question: RequestId): { key: string; call: LedgerCall } | undefined {
    const open = this.#find(question)
    return open && { key: open.entry.questions.get(open.id) ?? '', call: this.#read(open.row) }
  }

  /**
   * Stores an input response, with the next `write()`, and that it has come, at once: what the call does next is done after both. Returns
   * the call if this was the last response that it waited for; `undefined` if it waits for others, or if the input request is not open.
   * `problem`: with the response, the call does not fit into a row, so it must end.
   */
  answer(question: RequestId, answer: Answer): (StoredCall & { problem?: McpError }) | undefined {
    const open = this.#find(question)
    if (!open) return undefined
    const { id, row, entry } = open
    const key = entry.questions.get(id) ?? ''
    this.#sql.exec('DELETE FROM questions WHERE id = ?', id)
    entry.questions.delete(id)
    const call = this.#read(row)
    const answered = { ...call, journal: withAnswers(call.journal, { [key]: answer }) }
    const text = JSON.stringify(answered)
    const problem = tooLarge('The call with its answers', text, maxRowBytes)
    if (problem) return { row, call, problem }
    this.#put(row, text)
    return entry.questions.size > 0 ? undefined : { row, call: answered }
  }

  /** Whether there is a call without a reply. */
  get isOpen(): boolean {
    return this.#entries.size > 0
  }

  has(request: RequestId): boolean {
    const key = requestKey(request)
    return [...this.#entries.values()].some((entry) => entry.request === key)
  }

  /** Deletes a waiting call. Returns its stream and its open input requests. */
  cancel(request: RequestId): { stream: number; questions: string[] } | undefined {
    const key = requestKey(request)
    const [waiting] = this.waiting((entry) => entry.request === key)
    return waiting && { stream: waiting.call.stream, questions: this.end(waiting.row) }
  }

  /** Yields the calls without open input requests: in a new instance, those that were running in the last one. */
  unasked(): Iterable<StoredCall> {
    return this.#select(({ questions }) => questions.size === 0)
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
