/**
 * Input requests that a client of 2025-11-25 answers with a task: the session polls the task with `tasks/get`, and fetches its result with
 * `tasks/result`. Each answer of the client arrives in a POST; each poll is sent by the alarm of the session.
 *
 * | table          | column     | meaning                                                    | lifetime            |
 * |----------------|------------|------------------------------------------------------------|---------------------|
 * | `client_tasks` | `question` | id of the input request, in the table of `call-ledger.ts`  | until it is answered, or its call ends |
 * |                | `task`     | id of the client's task; `NULL` before the client created it | the same          |
 * |                | `due`      | milliseconds since 1970: the next request about the task; `NULL` before | the same |
 * |                | `pause`    | milliseconds until the request after that                  | the same            |
 * |                | `sent`     | requests about the task so far, so that each has its own id | the same           |
 * |                | `ended`    | 1 once the task has ended, so that its result is requested | the same            |
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks
 */
import * as bounds from '../../worker/protocol/bounds.ts'
import { isObject, type ResponseMessage, requestText } from '../../worker/protocol/jsonrpc.ts'
import type { RequestId } from '../../worker/protocol/types.ts'
import type { AddedTasks, Delivery, PartSession } from '../session/added-parts.ts'
import { StandingEvents } from '../session/standing-events.ts'
import type { Alarms } from '../shared/alarms.ts'
import type { CallLedger } from '../shared/call-ledger.ts'
import { Tables } from '../shared/tables.ts'

type Row = { question: number; task: string | null; due: number | null; pause: number; sent: number; ended: number }

/** Milliseconds between two requests about a task: the client's `pollInterval` within these bounds. */
const [minPauseMs, defaultPauseMs, maxPauseMs] = [1_000, 5_000, 600_000]

const schema = `CREATE TABLE client_tasks (
  question INTEGER PRIMARY KEY, task TEXT, due INTEGER, pause INTEGER, sent INTEGER DEFAULT 0, ended INTEGER DEFAULT 0
)`

export class ClientTasks implements AddedTasks {
  readonly #streams: PartSession['streams']
  readonly #events: StandingEvents
  readonly #tables: Tables
  readonly #ledger: CallLedger
  readonly #alarms: Alarms

  constructor(session: PartSession, sql: SqlStorage, ledger: CallLedger, alarms: Alarms) {
    this.#streams = session.streams
    this.#events = new StandingEvents(session)
    this.#tables = new Tables(sql, 'client_tasks', schema)
    this.#ledger = ledger
    this.#alarms = alarms
  }

  deliver(delivery: Delivery): Promise<boolean> {
    return this.#events.deliver(delivery)
  }

  reset(): void {
    this.#tables.reset()
  }

  expect(id: RequestId): void {
    this.#tables.create()
    this.#tables.query(
      'INSERT INTO client_tasks (question, pause) VALUES (?, ?)',
      questionIn(id) ?? null,
      defaultPauseMs,
    )
  }

  questionOf(id: RequestId): RequestId {
    const question = questionIn(id)
    return question === undefined ? id : `ask-${question}`
  }

  read(message: ResponseMessage): ResponseMessage | undefined {
    const { id } = message
    const row = id ? this.#row(id) : undefined
    if (!row) return message
    const result = 'result' in message && isObject(message.result) ? message.result : undefined
    if (String(id).startsWith('ask-') && isObject(result?.task) && isTaskId(result.task.taskId))
      return this.#follow(row, result.task)
    if (String(id).startsWith('poll-') && result) {
      // Whatever the response names: it answers the request about this task.
      return row.task === null ? undefined : this.#follow(row, { ...result, taskId: row.task })
    }
    // The response to the input request, to `tasks/result`, or an error of `tasks/get`: for example, the task has expired.
    this.#delete(row)
    return { ...message, id: `ask-${row.question}` }
  }

  cancel(id: RequestId, stream: number): boolean {
    const row = this.#row(id)
    if (!row) return false
    this.#delete(row)
    if (row.task === null) return false
    const text = requestText(`cancel-${row.question}`, 'tasks/cancel', { taskId: row.task })
    this.#streams.sendMessage(stream, text)
    return true
  }

  get due(): number {
    const [first] = this.#tables.query<{ due: number | null }>('SELECT min(due) AS due FROM client_tasks')
    return first?.due ?? Number.POSITIVE_INFINITY
  }

  poll(): void {
    for (const row of this.#tables.query<Row>('SELECT * FROM client_tasks WHERE due <= ?', Date.now())) this.#send(row)
  }

  #send(row: Row): void {
    const { question, task: taskId, pause, sent, ended } = row
    const open = this.#ledger.question(`ask-${question}`)
    if (!open) return this.#delete(row)
    const [method, prefix] = ended ? ['tasks/result', 'result'] : ['tasks/get', 'poll']
    const text = requestText(`${prefix}-${sent + 1}-${question}`, method, { taskId })
    this.#streams.sendMessage(open.call.stream, text)
    const longer = Math.min(pause * 2, maxPauseMs)
    const set = 'UPDATE client_tasks SET sent = sent + 1, due = ?, pause = ? WHERE question = ?'
    this.#tables.query(set, Date.now() + pause, longer, question)
    void this.#alarms.add(Date.now() + pause)
  }

  /** Stores the status of a client's task, and schedules the next request about it. */
  #follow(row: Row, { taskId, status, pollInterval }: Readonly<Record<string, unknown>>): undefined {
    const isOver = status === 'completed' || status === 'failed' || status === 'cancelled'
    const interval = typeof pollInterval === 'number' ? pollInterval : defaultPauseMs
    const pause = Math.min(Math.max(interval, minPauseMs), maxPauseMs)
    const due = Date.now() + (isOver ? 0 : pause)
    const set = 'UPDATE client_tasks SET task = ?, due = ?, pause = ?, ended = ? WHERE question = ?'
    this.#tables.query(set, String(taskId), due, pause, Number(isOver), row.question)
    if (isOver) this.poll()
    else void this.#alarms.add(due)
  }

  #row(id: RequestId): Row | undefined {
    const question = questionIn(id)
    if (question === undefined) return undefined
    return this.#tables.query<Row>('SELECT * FROM client_tasks WHERE question = ?', question)[0]
  }

  #delete({ question }: Row): void {
    this.#tables.query('DELETE FROM client_tasks WHERE question = ?', question)
  }
}

const isTaskId = (value: unknown) => typeof value === 'string' && value.length <= bounds.taskIdCharacters

/** Returns the row of the input request in `ask-<row>`, and in `poll-<count>-<row>` or `result-<count>-<row>`. */
function questionIn(id: RequestId): number | undefined {
  const row = /^(?:ask|(?:poll|result)-\d{1,15})-([1-9]\d{0,14})$/.exec(String(id))?.[1]
  return row === undefined ? undefined : Number(row)
}
