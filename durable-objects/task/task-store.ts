/** The rows of one task. The table of what is stored is in `object.ts`. The local runtime takes larger values than production does, so limits are checked here. */
import { type Answer, emptyJournal, type Journal, withAnswers } from '../../worker/engine/journal.ts'
import { McpError } from '../../worker/protocol/errors.ts'
import { jsonText } from '../../worker/protocol/json-text.ts'
import type { InputRequest } from '../../worker/protocol/types.ts'
import { utf8 } from '../../worker/protocol/utf8.ts'
import type { TaskCall, TaskEnd, TaskReferences, TaskStatus, TaskTerms } from '../rpc.ts'
import { bytesOf, maxValueBytes, readParts, writeParts } from '../shared/parts.ts'
import type { Schema } from '../shared/schema.ts'
import { Tables } from '../shared/tables.ts'

/** How far a task is. */
export type TaskRecord = TaskTerms &
  TaskReferences & {
    /** Of the id that its client has: see `TaskReferences`. */
    taskId: string
    scopes?: readonly string[]
    /** Milliseconds since 1970. */
    createdAt: number
    lastUpdatedAt: number
    /** Milliseconds since 1970: until when the client of a call that is not a task yet may send its `requestState`. Left out: it has none. */
    resumableUntil?: number
    status: TaskStatus
    statusMessage?: string | undefined
    /** The status message is about a problem, and is removed when the task goes on. */
    hasProblemMessage?: boolean
    /** Its client knows that it is a task. */
    announced: boolean
    /** How often its handler has thrown. */
    failures: number
    /** How often, one after another, a run was lost without progress. */
    lostRuns?: number
    /** How often, one after another, `reauthorize` has thrown. */
    reauthorizeFailures?: number
    /** How often it has asked. */
    rounds: number
    /** Milliseconds since 1970: when it goes on, or its questions have waited too long. */
    due?: number | undefined
    /** Its handler sleeps until `due`. */
    asleep?: boolean
    /** Shards of the subscriptions objects where clients listen to it. */
    shards: readonly number[]
    /** Its status may not have reached its session or the clients that listen: how often the delivery has failed. Left out once it has. */
    undelivered?: number | undefined
  }

/** A message about a problem must not outlive it. */
export function removeProblemMessage(record: TaskRecord): void {
  if (record.hasProblemMessage) Object.assign(record, { statusMessage: undefined, hasProblemMessage: false })
}

/** What one request to an object can return is 32 MiB. */
const maxTextBytes = 30_000_000

const tables = 'CREATE TABLE effects (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;'

export class TaskStore {
  readonly #storage: DurableObjectStorage
  readonly #schema: Schema
  readonly #effects: Tables

  constructor(storage: DurableObjectStorage, schema: Schema) {
    this.#storage = storage
    this.#schema = schema
    this.#effects = new Tables(storage.sql, 'effects', tables)
  }

  get record(): TaskRecord | undefined {
    return this.#storage.kv.get<TaskRecord>('task')
  }

  get call(): TaskCall {
    // `create` stores the call together with the record, and callers have read the record.
    return this.#storage.kv.get('call') as TaskCall
  }

  /** Stores a call for the first time. */
  create(call: TaskCall, record: TaskRecord): void {
    this.#schema.store()
    this.#storage.kv.put('call', call)
    this.save(record)
  }

  /** Stores the principal of a later round of a call that is not a task yet, sealed for longer. */
  renewPrincipal({ principal }: TaskCall): void {
    this.#storage.kv.put('call', { ...this.call, principal })
  }

  save(record: TaskRecord): void {
    this.#storage.kv.put('task', record)
  }

  /** What the next run of the handler starts with. */
  get journal(): Journal {
    const rows = this.#effects.query<{ key: string; value: string }>('SELECT key, value FROM effects')
    return { ...this.#answers, effects: Object.fromEntries(rows.map(({ key, value }) => [key, JSON.parse(value)])) }
  }

  /** The journal without its effects, which have a table. */
  get #answers(): Journal {
    const text = readParts(this.#storage.kv, 'journal')
    return text ? JSON.parse(text) : emptyJournal
  }

  set #answers(journal: Journal) {
    this.#put('journal', { ...journal, effects: {} }, 'the answers')
  }

  /** Returns why the result of `ctx.once` cannot be stored; `undefined`: it can. */
  effectProblem(key: string, value: unknown): McpError | undefined {
    const what = `the result of once "${key}"`
    try {
      jsonText(value, `Cannot store ${what}:`)
    } catch (problem) {
      return new McpError('internal_error', problem instanceof Error ? problem.message : String(problem))
    }
    const bytes = utf8(JSON.stringify({ value })).length
    return bytes > maxValueBytes ? tooLarge(what, bytes, maxValueBytes) : undefined
  }

  /** @param value that `effectProblem` has no problem with */
  putEffect(key: string, value: unknown): void {
    this.#effects.create()
    this.#effects.query('INSERT OR REPLACE INTO effects VALUES (?, ?)', key, JSON.stringify({ value }))
  }

  get inputRequests(): Record<string, InputRequest> {
    return JSON.parse(readParts(this.#storage.kv, 'inputRequests') || '{}')
  }

  /** @throws McpError when it cannot be stored; nothing is changed */
  ask(inputRequests: Readonly<Record<string, InputRequest>>, journal: Journal): void {
    this.#storage.transactionSync(() => {
      this.#answers = journal
      const keys = Object.keys(inputRequests).map((key) => `"${key}"`)
      this.#put('inputRequests', inputRequests, `the question ${keys.join(', ')}`)
    })
  }

  /** Returns the answers that are to open questions. */
  asked(answers: Readonly<Record<string, Answer>>): [string, Answer, InputRequest][] {
    return Object.entries(this.inputRequests).flatMap(([key, request]): [string, Answer, InputRequest][] => {
      const answer = Object.hasOwn(answers, key) ? answers[key] : undefined
      return answer ? [[key, answer, request]] : []
    })
  }

  /** Stores answers to open questions, and ignores others. True when no question is open any more. */
  answer(answers: Readonly<Record<string, Answer>>): boolean {
    const { inputRequests } = this
    const answered = this.asked(answers).map(([key, answer]) => [key, answer] as const)
    const open = Object.entries(inputRequests).filter(([key]) => !Object.hasOwn(answers, key))
    this.ask(Object.fromEntries(open), withAnswers(this.#answers, Object.fromEntries(answered)))
    return open.length === 0
  }

  /** Deletes an answer that the handler could not use, so that its question is open again. */
  withdrawAnswer(key: string): void {
    const { [key]: _, ...answers } = this.#answers.answers
    this.#answers = { ...this.#answers, answers }
  }

  get end(): TaskEnd {
    return JSON.parse(readParts(this.#storage.kv, 'end') || '{}')
  }

  /** @throws McpError when it cannot be stored; nothing is changed */
  finish(end: TaskEnd): void {
    this.#storage.transactionSync(() => {
      this.#put('end', end, 'the result of the tool')
      for (const key of ['journal', 'inputRequests']) this.#put(key, undefined, key)
      this.#effects.query('DELETE FROM effects')
    })
  }

  /** @param what it is, for errors */
  #put(key: string, value: unknown, what: string): void {
    const text = value === undefined ? '' : serialize(value, what)
    const bytes = bytesOf(text)
    if (bytes > maxTextBytes) throw tooLarge(what, bytes, maxTextBytes)
    writeParts(this.#storage.kv, key, text)
  }

  async deleteAll(): Promise<void> {
    await this.#storage.deleteAll()
    this.#schema.reset()
    this.#effects.reset()
  }
}

/** @throws McpError for a value that JSON cannot represent */
function serialize(value: unknown, what: string): string {
  try {
    return JSON.stringify(value)
  } catch (problem) {
    const reason = problem instanceof Error ? problem.message : String(problem)
    throw new McpError('internal_error', `Cannot store ${what}: ${reason}. Use JSON values only`)
  }
}

const tooLarge = (what: string, bytes: number, maxBytes: number): McpError =>
  new McpError(
    'internal_error',
    `Cannot store ${what}: it has ${bytes} bytes, at most ${maxBytes} are allowed. Store it in R2 or KV, and use a reference to it`,
  )
