/**
 * The stored values of one task: `object.ts` has their table. The local runtime accepts larger values than production, so limits are
 * checked here.
 */
import { type Answer, emptyJournal, type Journal, withAnswers } from '../../worker/engine/journal.ts'
import { DeveloperError, McpError } from '../../worker/protocol/errors.ts'
import { jsonText } from '../../worker/protocol/json-text.ts'
import type { InputRequest } from '../../worker/protocol/types.ts'
import { utf8 } from '../../worker/protocol/utf8.ts'
import type { Schema } from '../shared/schema.ts'
import { bytesOf, maxValueBytes, readParts, writeParts } from '../shared/split-texts.ts'
import { Tables } from '../shared/tables.ts'
import type { TaskCall, TaskEnd, TaskReferences, TaskStatus, TaskTerms } from './rpc.ts'

/** The state of a task. */
export type TaskRecord = TaskTerms &
  TaskReferences & {
    /** The id that its client has: see `TaskReferences`. */
    taskId: string
    /** Milliseconds since 1970. */
    createdAt: number
    lastUpdatedAt: number
    /**
     * Milliseconds since 1970: until when the client of a call that is not a task yet may send its `requestState`. Absent without a
     * `requestState`.
     */
    resumableUntil?: number
    status: TaskStatus
    statusMessage?: string | undefined
    /** Whether the status message is about a problem, and is removed when the task continues. */
    hasProblemMessage?: boolean
    /** Whether its client knows that it is a task. */
    announced: boolean
    /** How often its handler has thrown. */
    failures: number
    /** Consecutive runs that were lost without progress. */
    lostRuns?: number
    /** Consecutive errors of `reauthorize`. */
    reauthorizeFailures?: number
    /** Rounds that have ended with input requests. */
    rounds: number
    /** Milliseconds since 1970: when it continues, or when its input requests time out. */
    due?: number | undefined
    /** Whether its handler sleeps. */
    asleep?: boolean
    /** Milliseconds since 1970: until when the handler has come, in a task that sleeps or has requested input. Absent before that. */
    stoppedAt?: number
    /** Milliseconds since 1970: when the handler runs beside open input requests, because a sleep is over. */
    wakes?: number | undefined
    /** Keys of input responses that no run has read. */
    unread?: readonly string[] | undefined
    /** Shards of the subscriptions objects where clients listen to it. */
    shards: readonly number[]
    /**
     * Failed deliveries of its status, which may not have reached its session or the clients that listen. Absent after a successful
     * delivery.
     */
    undelivered?: number | undefined
  }

export const isOver = ({ status }: Pick<TaskRecord, 'status'>): boolean =>
  status !== 'working' && status !== 'input_required'

/** Removes a status message about a problem when the task continues. */
export function removeProblemMessage(record: TaskRecord): void {
  if (record.hasProblemMessage) Object.assign(record, { statusMessage: undefined, hasProblemMessage: false })
}

/** Bytes of one stored text: a request to an object returns at most 32 MiB. */
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
    const call = this.#storage.kv.get('call') as TaskCall
    const input = this.#storage.kv.get<TaskCall['input']>('input')
    return input ? { ...call, input } : call
  }

  /** Stores a call for the first time. */
  create({ input, ...call }: TaskCall, record: TaskRecord): void {
    this.#schema.store()
    this.#storage.kv.put('call', call)
    // A value of its own, because a value has a maximum size.
    if (input) this.#storage.kv.put('input', input)
    this.save(record)
  }

  /** Stores the principal and the request context of a later round of a call that is not a task yet, sealed for longer. */
  renewSealed({ principal, requestContext }: TaskCall): void {
    const { input: _, ...call } = this.call
    this.#storage.kv.put('call', { ...call, principal, requestContext })
  }

  /** Performs writes. If one of them throws, none is stored. */
  transaction<T>(write: () => T): T {
    return this.#storage.transactionSync(write)
  }

  save(record: TaskRecord): void {
    this.#storage.kv.put('task', record)
  }

  /** Changes a record once the change is stored. */
  update(record: TaskRecord, change: Partial<TaskRecord>): void {
    this.save({ ...record, ...change })
    Object.assign(record, change)
  }

  /** Returns the journal for the next run of the handler. */
  get journal(): Journal {
    const rows = this.#effects.query<{ key: string; value: string }>('SELECT key, value FROM effects')
    return { ...this.#answers, effects: Object.fromEntries(rows.map(({ key, value }) => [key, JSON.parse(value)])) }
  }

  /** Returns the journal without its effects, which have a table. */
  get #answers(): Journal {
    const text = readParts(this.#storage.kv, 'journal')
    return text ? JSON.parse(text) : emptyJournal
  }

  set #answers(journal: Journal) {
    this.#put('journal', { ...journal, effects: {} }, 'the answers')
  }

  /** Returns why the result of `ctx.once` cannot be stored; `undefined` if it can. */
  effectProblem(key: string, value: unknown): McpError | undefined {
    const what = `the result of once "${key}"`
    try {
      jsonText(value, `Cannot store ${what}:`)
    } catch (problem) {
      return new DeveloperError(problem instanceof Error ? problem.message : String(problem))
    }
    const bytes = utf8(JSON.stringify({ value })).length
    return bytes > maxValueBytes ? tooLarge(what, bytes, maxValueBytes) : undefined
  }

  /** @param value a value without an `effectProblem` */
  putEffect(key: string, value: unknown): void {
    this.#effects.create()
    this.#effects.query('INSERT OR REPLACE INTO effects VALUES (?, ?)', key, JSON.stringify({ value }))
  }

  get inputRequests(): Record<string, InputRequest> {
    return JSON.parse(readParts(this.#storage.kv, 'inputRequests') || '{}')
  }

  /** @throws McpError when the input requests cannot be stored; nothing changes */
  ask(inputRequests: Readonly<Record<string, InputRequest>>, journal: Journal): void {
    this.#storage.transactionSync(() => {
      this.#answers = journal
      const keys = Object.keys(inputRequests).map((key) => `"${key}"`)
      this.#put('inputRequests', inputRequests, `the input request ${keys.join(', ')}`)
    })
  }

  /** Returns the responses to open input requests. */
  asked(answers: Readonly<Record<string, Answer>>): [string, Answer, InputRequest][] {
    return Object.entries(this.inputRequests).flatMap(([key, request]): [string, Answer, InputRequest][] => {
      const answer = Object.hasOwn(answers, key) ? answers[key] : undefined
      return answer ? [[key, answer, request]] : []
    })
  }

  /**
   * Stores responses to open input requests, and ignores others.
   *
   * @returns the keys of the responses, and whether no input request is open any more
   */
  answer(answers: Readonly<Record<string, Answer>>): { keys: readonly string[]; isComplete: boolean } {
    const { inputRequests } = this
    const answered = this.asked(answers).map(([key, answer]) => [key, answer] as const)
    const open = Object.entries(inputRequests).filter(([key]) => !Object.hasOwn(answers, key))
    this.ask(Object.fromEntries(open), withAnswers(this.#answers, Object.fromEntries(answered)))
    return { keys: answered.map(([key]) => key), isComplete: open.length === 0 }
  }

  /** Adds input requests to the open ones. @param journal of a run, during which responses to the open ones may have arrived */
  askMore(inputRequests: Readonly<Record<string, InputRequest>>, journal: Journal): void {
    const { answers, rounds } = this.#answers
    this.ask({ ...this.inputRequests, ...inputRequests }, { ...withAnswers(journal, answers), rounds })
  }

  /** Deletes a response that the handler could not use, so that its input request is open again. */
  withdrawAnswer(key: string): void {
    const { [key]: _, ...answers } = this.#answers.answers
    this.#answers = { ...this.#answers, answers }
  }

  get end(): TaskEnd {
    return JSON.parse(readParts(this.#storage.kv, 'end') || '{}')
  }

  /** @throws McpError when the outcome cannot be stored; nothing changes */
  finish(end: TaskEnd): void {
    this.#storage.transactionSync(() => {
      this.#put('end', end, 'the result of the tool')
      for (const key of ['journal', 'inputRequests']) this.#put(key, undefined, key)
      this.#effects.query('DELETE FROM effects')
    })
  }

  /** @param what the name of the value, for errors */
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
    throw new DeveloperError(`Cannot store ${what}: ${reason}. Use JSON values only`)
  }
}

const tooLarge = (what: string, bytes: number, maxBytes: number): McpError =>
  new McpError(
    'internal_error',
    `Cannot store ${what}: it has ${bytes} bytes, at most ${maxBytes} are allowed. Store it in R2 or KV, and use a reference to it`,
  )
