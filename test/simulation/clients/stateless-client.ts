/** A client of 2026-07-28, whose requests are complete in themselves. */
import assert from 'node:assert/strict'
import { statelessHeaders } from '../../support/stateless.ts'
import { type ClientWorld, type ReceivedResponse, url } from '../client-world.ts'
import { eventsOf } from './event-stream.ts'
import type { Message } from './session-client.ts'
import { unlessLost } from './unless-lost.ts'

const protocol = 'io.modelcontextprotocol'
const meta = {
  [`${protocol}/protocolVersion`]: '2026-07-28',
  [`${protocol}/clientCapabilities`]: { elicitation: { form: {} }, extensions: { [`${protocol}/tasks`]: {} } },
  [`${protocol}/clientInfo`]: { name: 'simulated', version: '1' },
}

/** Params or a result. */
export type Fields = Readonly<Record<string, unknown>>

/** How a client answers every input request. */
export const accepted = { action: 'accept', content: { word: 'blue' } }

export class StatelessClient {
  readonly world: ClientWorld
  readonly #token: string | undefined
  #lastId = 0

  /** @param token an access token or API key. Default: none */
  constructor(world: ClientWorld, token?: string) {
    this.world = world
    this.#token = token
  }

  /** Sends a request, and reads the response. A lost connection, or an error of the server, is repeated: with the params of the last round. */
  async ask(method: string, params: Fields): Promise<Message> {
    for (let attempt = 0; ; attempt += 1) {
      const message = await this.askOnce(method, params)
      if (message) return message
      assert.ok(attempt < 40, `${method}: the server does not come back: ${this.world.serverErrors.at(-1)}`)
      await this.world.sleep(500)
    }
  }

  /** Sends a request once. Returns `undefined` for a lost connection, and for an error of the server. */
  async askOnce(method: string, params: Fields): Promise<Message | undefined> {
    const answer = await unlessLost(() => this.#answer(method, params))
    if (answer && !isServerError(answer.message)) return answer.message
    if (answer) this.world.serverErrors.push(answer.text.slice(0, 200))
    return undefined
  }

  async #answer(method: string, params: Fields): Promise<{ message: Message; text: string } | undefined> {
    const { status, headers, body } = await this.post(method, params)
    if (!headers.get('content-type')?.startsWith('text/event-stream')) {
      const text = await body.text()
      assert.ok(status < 500 || status === 503, `${method}: status ${status}: ${text}`)
      return { message: JSON.parse(text), text }
    }
    for await (const { data } of eventsOf(body)) {
      if (data === undefined) continue
      const message: Message = JSON.parse(data)
      if (message.method === undefined) return { message, text: data }
    }
    return undefined
  }

  /** Calls a tool, and answers its input requests, round by round. @returns the result, and the number of input requests */
  async call(
    name: string,
    args: object,
    answer: () => object = () => accepted,
  ): Promise<{ message: Message; questions: number }> {
    let questions = 0
    let round: Fields = {}
    for (;;) {
      const message = await this.ask('tools/call', { name, arguments: args, ...round })
      const { resultType, inputRequests, requestState } = message.result ?? {}
      if (resultType !== 'input_required') return { message, questions }
      const keys = Object.keys(Object(inputRequests))
      questions += keys.length
      await this.world.sleep(this.world.random.between(0, 3000))
      round = { inputResponses: Object.fromEntries(keys.map((key) => [key, answer()])), requestState }
    }
  }

  post(method: string, params: Fields, leave?: AbortSignal): Promise<ReceivedResponse> {
    this.#lastId += 1
    const name = params.name ?? params.taskId
    const message = {
      jsonrpc: '2.0',
      id: this.#lastId,
      method,
      params: { ...params, _meta: { ...meta, ...Object(params._meta) } },
    }
    const headers = {
      ...statelessHeaders(method, typeof name === 'string' ? name : undefined),
      ...(this.#token !== undefined && { Authorization: `Bearer ${this.#token}` }),
    }
    return this.world.request(url, { method: 'POST', headers, body: JSON.stringify(message) }, leave)
  }
}

/** Whether an error says that the server, not the request, is the cause, and that the request can be sent again: a fault may. */
function isServerError({ error }: Message): boolean {
  const { reason, retryable = true } = Object(error?.data)
  return (error?.code === -32603 || reason === 'interrupted') && retryable
}
