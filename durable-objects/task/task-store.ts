/**
 * What is kept of one task.
 *
 * | key          | meaning                                                              | lifetime             |
 * |--------------|----------------------------------------------------------------------|----------------------|
 * | `call`       | `TaskCall`: what is called, and the principal, sealed                | until `ttl`, by alarm |
 * | `task`       | `Kept`: how far it is                                                 | the same             |
 * | `journal:<part>` | answers so far, and what was asked, as JSON                         | until it ends        |
 * | `inputRequests:<part>` | open questions, by key, as JSON                                     | until they are answered |
 * | `end:<part>` | what it came to, as JSON                                             | until `ttl`          |
 *
 * Values that may be large are split into parts, because a value has 2 MB at most. The local runtime takes larger ones, so the limits
 * are checked here.
 *
 * | table     | column  | meaning                                   | lifetime      |
 * |-----------|---------|-------------------------------------------|---------------|
 * | `effects` | `key`   | of `once`                                 | until it ends |
 * |           | `value` | its result, boxed, as JSON                |               |
 */
import { type Answer, emptyJournal, type Journal, withAnswers } from '../../worker/engine/journal.ts'
import { type ErrorKind, McpError } from '../../worker/protocol/errors.ts'
import { jsonText } from '../../worker/protocol/json-text.ts'
import type { ClientCapabilities, Implementation, InputRequest, Params, Result } from '../../worker/protocol/types.ts'
import { utf8 } from '../../worker/protocol/utf8.ts'
import { bytesOf, maxValueBytes, readParts, writeParts } from '../shared/parts.ts'
import type { Schema } from '../shared/schema.ts'
import { Tables } from '../shared/tables.ts'

/** What is called, and for whom. */
export type TaskCall = {
  readonly params: Params
  readonly capabilities: ClientCapabilities
  readonly client: Implementation | undefined
  /** The caller's principal, sealed by `worker/plugins/tasks/task-principal.ts`. `undefined`: the caller was not signed in. */
  readonly principal: string | undefined
  /** Of the endpoint that was called. */
  readonly identity: string
  /** The key of that endpoint: see `worker/declarations/endpoints.ts`. A Worker of an older release leaves it out. */
  readonly endpoint?: string
  /** Names of the plugins of that endpoint. A Worker of an older release leaves it out. */
  readonly plugins?: readonly string[] | undefined
}

/** Milliseconds, but for `retries`. */
export type TaskTerms = {
  readonly after: number
  readonly ttl: number
  readonly poll: number
  readonly retries: number
}

export type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'

export type TaskError = {
  readonly kind: ErrorKind
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

export type TaskRecord = TaskTerms & {
  /** Of its object. */
  readonly name: string
  /** What its client calls it. */
  taskId: string
  /** The object of the session that is told of it. */
  readonly session: string | undefined
  /** What a token needs to read its status in that session. A Worker of an older release leaves it out. */
  scopes?: readonly string[]
  createdAt: number
  /** Milliseconds: until when the client of a call that is no task yet may send its `requestState`. It has none when left out. */
  resumableUntil?: number
  lastUpdatedAt: number
  status: TaskStatus
  statusMessage?: string | undefined
  /** The status message is about a problem, and is removed when the task goes on. */
  hasProblemMessage?: boolean
  /** Its client has heard of it. */
  announced: boolean
  /** How often its handler has thrown. */
  failures: number
  /** How often, one after another, a run was lost without progress. */
  lostRuns?: number
  /** How often, one after another, `reauthorize` has thrown. */
  reauthorizeFailures?: number
  /** How often it has asked. */
  rounds: number
  /** Milliseconds: when it goes on, or its questions have waited too long. */
  due?: number | undefined
  /** Its handler waits for `due`. */
  asleep?: boolean
  /** Shards of the Subscriptions objects where somebody listens to it. */
  shards: readonly number[]
  /** Its status may not have reached its session or those who listen: how often the delivery has failed. Left out once it has. */
  undelivered?: number | undefined
}

/** What it came to: neither, when it was cancelled. */
export type End = { readonly result?: Result; readonly error?: TaskError }

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

  get task(): TaskRecord | undefined {
    return this.#storage.kv.get<TaskRecord>('task')
  }

  get call(): TaskCall {
    return this.#storage.kv.get('call') as TaskCall
  }

  begin(call: TaskCall, task: TaskRecord): void {
    this.#schema.store()
    this.#storage.kv.put('call', call)
    this.save(task)
  }

  /** A later round of a call that is no task yet brings the principal again, sealed for longer. */
  renewPrincipal({ principal }: TaskCall): void {
    this.#storage.kv.put('call', { ...this.call, principal })
  }

  save(task: TaskRecord): void {
    this.#storage.kv.put('task', task)
  }

  /** What the next run of the handler knows. */
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

  /** Why the result of `once` cannot be stored, if it cannot. */
  refuseEffect(key: string, value: unknown): McpError | undefined {
    const what = `the result of once "${key}"`
    try {
      jsonText(value, `Cannot store ${what}:`)
    } catch (problem) {
      return new McpError('internal_error', problem instanceof Error ? problem.message : String(problem))
    }
    const bytes = utf8(JSON.stringify({ value })).length
    return bytes > maxValueBytes ? tooLarge(what, bytes, maxValueBytes) : undefined
  }

  /** @param value that `refuseEffect` has not refused */
  keepEffect(key: string, value: unknown): void {
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

  /** The answers that are to open questions. */
  asked(answers: Readonly<Record<string, Answer>>): [string, Answer, InputRequest][] {
    return Object.entries(this.inputRequests).flatMap(([key, request]) => {
      const answer = Object.hasOwn(answers, key) ? answers[key] : undefined
      return answer ? [[key, answer, request] as [string, Answer, InputRequest]] : []
    })
  }

  /** Takes answers to open questions; others were not asked. True when none is open any more. */
  answer(answers: Readonly<Record<string, Answer>>): boolean {
    const { inputRequests } = this
    const answered = this.asked(answers).map(([key, answer]) => [key, answer] as const)
    const open = Object.entries(inputRequests).filter(([key]) => !Object.hasOwn(answers, key))
    this.ask(Object.fromEntries(open), withAnswers(this.#answers, Object.fromEntries(answered)))
    return open.length === 0
  }

  /** Forgets an answer that its question could not use, so that it is asked again. */
  withdrawAnswer(key: string): void {
    const { [key]: _, ...answers } = this.#answers.answers
    this.#answers = { ...this.#answers, answers }
  }

  get end(): End {
    return JSON.parse(readParts(this.#storage.kv, 'end') || '{}')
  }

  /** @throws McpError when it cannot be stored; nothing is changed */
  finish(end: End): void {
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

  async forget(): Promise<void> {
    await this.#storage.deleteAll()
    this.#schema.forget()
    this.#effects.forget()
  }
}

/** @throws McpError for what JSON cannot say */
function serialize(value: unknown, what: string): string {
  try {
    return JSON.stringify(value)
  } catch (problem) {
    const reason = problem instanceof Error ? problem.message : String(problem)
    throw new McpError('internal_error', `Cannot store ${what}: ${reason}. Use only values that JSON has`)
  }
}

const tooLarge = (what: string, bytes: number, maxBytes: number): McpError =>
  new McpError(
    'internal_error',
    `Cannot store ${what}: it has ${bytes} bytes, and ${maxBytes} is the most. Store it elsewhere, and use a reference to it`,
  )
