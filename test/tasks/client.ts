/** A client of 2026-07-28 that knows tasks, as far as the wire. */

import { setTimeout as pause } from 'node:timers/promises'
import { events } from '../../worker/client/wire.ts'
import { statelessHeaders } from '../support/stateless.ts'

export type Json = Record<string, unknown>
export type Answered = { status: number; result?: Json; error?: { code: number; message: string; data?: unknown } }

const protocol = 'io.modelcontextprotocol'
const tasks = { extensions: { [`${protocol}/tasks`]: {} } }
export const knowing = { elicitation: { form: {} }, ...tasks }

export type Sent = { capabilities?: Json; user?: string; headers?: Record<string, string>; signal?: AbortSignal }

/** A stream of changes, message by message. */
export type Heard = AsyncDisposable & { next(): Promise<{ method: string; params: Json & { notifications?: Json } }> }

export class TaskClient {
  readonly #url: URL
  #lastId = 0

  constructor(url: URL) {
    this.#url = url
  }

  async ask(method: string, params: Json, sent?: Sent): Promise<Answered> {
    const response = await this.#post(method, params, sent)
    const text = await response.text()
    const json = text.startsWith('{') ? text : text.slice(text.lastIndexOf('data: ') + 6)
    const { result, error } = JSON.parse(json)
    return { status: response.status, result, error }
  }

  /** How a request is told what it takes. */
  async challenge(method: string, params: Json, sent?: Sent): Promise<string | null> {
    const { headers } = await this.#post(method, params, sent)
    return headers.get('WWW-Authenticate')
  }

  async #post(method: string, params: Json, { capabilities = knowing, user, headers, signal }: Sent = {}) {
    const name = params.name ?? params.taskId
    const _meta = {
      [`${protocol}/protocolVersion`]: '2026-07-28',
      [`${protocol}/clientCapabilities`]: capabilities,
      [`${protocol}/clientInfo`]: { name: 'test', version: '1' },
    }
    return fetch(this.#url, {
      method: 'POST',
      ...(signal && { signal }),
      headers: {
        ...statelessHeaders(method, typeof name === 'string' ? name : undefined),
        ...(user && { Authorization: user }),
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: ++this.#lastId, method, params: { ...params, _meta } }),
    })
  }

  /** Opens a stream of changes. */
  async listen(params: Json, sent: Sent = {}): Promise<Heard> {
    const stop = new AbortController()
    const response = await this.#post('subscriptions/listen', params, { ...sent, signal: stop.signal })
    const stream = events(response)
    return {
      async next() {
        const { value } = await stream.next()
        return JSON.parse(value?.data ?? 'null')
      },
      async [Symbol.asyncDispose]() {
        stop.abort()
      },
    }
  }

  /** @throws what was answered, when it is no result */
  async result(method: string, params: Json, sent?: Sent): Promise<Json> {
    const answered = await this.ask(method, params, sent)
    if (!answered.result) throw new Error(JSON.stringify(answered))
    return answered.result
  }

  call(name: string, args: Json = {}, sent?: Sent): Promise<Json> {
    return this.result('tools/call', { name, arguments: args }, sent)
  }

  /** Begins a task. Returns its id. */
  async begin(name: string, args: Json = {}, sent?: Sent): Promise<string> {
    const { resultType, taskId } = await this.call(name, args, sent)
    if (resultType !== 'task') throw new Error(`${name} became no task`)
    return String(taskId)
  }

  get(taskId: string, sent?: Sent): Promise<Json> {
    return this.result('tasks/get', { taskId }, sent)
  }

  /** Asks again and again until it has come to this. */
  async until(taskId: string, status: string, sent?: Sent): Promise<Json> {
    for (;;) {
      const task = await this.get(taskId, sent)
      if (task.status === status) return task
      if (['completed', 'failed', 'cancelled'].includes(String(task.status))) throw new Error(JSON.stringify(task))
      await pause(20)
    }
  }
}

export const textIn = (result: Json) => (result.content as { text: string }[])[0]?.text
export const textOf = (task: Json): unknown => textIn(task.result as Json)
