/**
 * What is kept of one task.
 *
 * | key          | meaning                                                              | lifetime             |
 * |--------------|----------------------------------------------------------------------|----------------------|
 * | `call`       | `TaskCall`: what is called, and the principal, sealed                | until `ttl`, by alarm |
 * | `task`       | `Kept`: how far it is                                                 | the same             |
 * | `memo`       | answers so far, and what was asked, as JSON                          | until it ends        |
 * | `asks`       | open questions, by key, as JSON                                      | until they are answered |
 * | `end:<part>` | what it came to, as JSON, in parts of a million characters           | until `ttl`          |
 *
 * | table     | column  | meaning                                   | lifetime      |
 * |-----------|---------|-------------------------------------------|---------------|
 * | `effects` | `key`   | of `once`                                 | until it ends |
 * |           | `value` | its result, boxed, as JSON                |               |
 */
import { type Answer, emptyMemo, type Memo, withAnswers } from '../worker/engine/memo.ts'
import type { ErrorKind } from '../worker/protocol/errors.ts'
import type { ClientCapabilities, Implementation, InputRequest, Params, Result } from '../worker/protocol/types.ts'
import { Tables } from './tables.ts'

/** What is called, and for whom. */
export type TaskCall = {
  readonly params: Params
  readonly capabilities: ClientCapabilities
  readonly client: Implementation | undefined
  /** The caller's principal, sealed by `worker/tasks/task-principal.ts`. `undefined`: the caller was not signed in. */
  readonly principal: string | undefined
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

export type Kept = TaskTerms & {
  /** Of its object. */
  readonly name: string
  /** What its client calls it. */
  readonly taskId: string
  /** The object of the session that is told of it. */
  readonly session: string | undefined
  readonly createdAt: number
  lastUpdatedAt: number
  status: TaskStatus
  statusMessage?: string | undefined
  /** Its client has heard of it. */
  isTask: boolean
  /** How often its handler has thrown. */
  failures: number
  /** How often, one after another, `reauthorize` has thrown. */
  reauthorizeFailures?: number
  /** How often it has asked. */
  rounds: number
  /** Milliseconds: when it goes on, or its questions have waited too long. */
  due?: number | undefined
  /** Its handler waits for `due`. */
  asleep?: boolean
  /** Shards of the Updates objects where somebody listens to it. */
  shards: readonly number[]
}

/** What it came to: neither, when it was cancelled. */
export type End = { readonly result?: Result; readonly error?: TaskError }

/** Characters of a value in key-value storage. */
const mostInPart = 1_000_000

const schema = 'CREATE TABLE effects (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;'

export class TaskStore {
  readonly #storage: DurableObjectStorage
  readonly #effects: Tables

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage
    this.#effects = new Tables(storage.sql, 'effects', schema)
  }

  get task(): Kept | undefined {
    return this.#storage.kv.get<Kept>('task')
  }

  get call(): TaskCall {
    return this.#storage.kv.get('call') as TaskCall
  }

  begin(call: TaskCall, task: Kept): void {
    this.#storage.kv.put('call', call)
    this.save(task)
  }

  save(task: Kept): void {
    this.#storage.kv.put('task', task)
  }

  /** What the next run of the handler knows. */
  get memo(): Memo {
    const rows = this.#effects.query<{ key: string; value: string }>('SELECT key, value FROM effects')
    return { ...this.#answers, effects: Object.fromEntries(rows.map(({ key, value }) => [key, JSON.parse(value)])) }
  }

  /** The memo without its effects, which have a table. */
  get #answers(): Memo {
    const text = this.#storage.kv.get<string>('memo')
    return text ? JSON.parse(text) : emptyMemo
  }

  set #answers(memo: Memo) {
    this.#storage.kv.put('memo', JSON.stringify({ ...memo, effects: {} }))
  }

  keepEffect(key: string, value: unknown): void {
    this.#effects.create()
    this.#effects.query('INSERT OR REPLACE INTO effects VALUES (?, ?)', key, JSON.stringify({ value }))
  }

  get asks(): Record<string, InputRequest> {
    return JSON.parse(this.#storage.kv.get<string>('asks') ?? '{}')
  }

  ask(asks: Readonly<Record<string, InputRequest>>, memo: Memo): void {
    this.#answers = memo
    this.#storage.kv.put('asks', JSON.stringify(asks))
  }

  /** Takes answers to open questions; others were not asked. True when none is open any more. */
  answer(answers: Readonly<Record<string, Answer>>): boolean {
    const { asks } = this
    const given = Object.entries(answers).filter(([key]) => Object.hasOwn(asks, key))
    const open = Object.entries(asks).filter(([key]) => !Object.hasOwn(answers, key))
    this.ask(Object.fromEntries(open), withAnswers(this.#answers, Object.fromEntries(given)))
    return open.length === 0
  }

  get end(): End {
    let text = ''
    for (let part = 0; ; part += 1) {
      const found = this.#storage.kv.get<string>(`end:${part}`)
      if (found === undefined) return JSON.parse(text || '{}')
      text += found
    }
  }

  finish(end: End): void {
    const { kv } = this.#storage
    for (const key of ['memo', 'asks']) kv.delete(key)
    this.#effects.query('DELETE FROM effects')
    const text = JSON.stringify(end)
    for (let part = 0; part * mostInPart < text.length; part += 1) {
      kv.put(`end:${part}`, text.slice(part * mostInPart, (part + 1) * mostInPart))
    }
  }

  async forget(): Promise<void> {
    await this.#storage.deleteAll()
    this.#effects.forget()
  }
}
