/** Clients of one server: a few open connections. Every response is compared with the expected one. */
import { deepStrictEqual } from 'node:assert/strict'
import { Agent, type IncomingHttpHeaders } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Dialect, Headers, Message } from './dialects.ts'
import { post } from './http.ts'
import type { Scenario } from './scenarios.ts'

/** The number of concurrent requests. */
const connections = 32

export class Clients {
  readonly #url: URL
  readonly #dialect: Dialect
  readonly #agent = new Agent({ keepAlive: true, maxSockets: connections })
  readonly #opened: Headers[] = []
  #lastId = 0

  constructor(url: URL, dialect: Dialect) {
    this.#url = url
    this.#dialect = dialect
  }

  /** Creates clients until there are this many. */
  async open(count: number): Promise<void> {
    while (this.#opened.length < count) {
      this.#opened.push(
        await this.#dialect.open(async (message, headers) => {
          const { status, headers: answered, body } = await this.#post(message, headers)
          if (status >= 300) throw new Error(`${message.method} was answered with ${status}: ${body}`)
          return { headers: answered as Headers }
        }),
      )
    }
  }

  /**
   * Runs this many operations, distributed over the clients.
   *
   * @throws Error for a response that differs from the expected one
   */
  async run(scenario: Scenario, operations: number): Promise<void> {
    let started = 0
    const work = async () => {
      while (started < operations) {
        const number = started++
        await this.#operate(scenario, number)
      }
    }
    await Promise.all(Array.from({ length: connections }, work))
  }

  async #operate({ clients, request, result }: Scenario, number: number): Promise<void> {
    const asked = request(number)
    const { headers, params } = this.#dialect.write(asked)
    const id = ++this.#lastId
    const answer = await this.#post(
      { jsonrpc: '2.0', id, method: asked.method, params },
      { ...this.#opened[number % clients], ...headers },
    )
    deepStrictEqual(
      { status: answer.status, type: answer.headers['content-type'], message: parsed(answer.body) },
      {
        status: 200,
        type: 'application/json',
        message: { jsonrpc: '2.0', id, result: this.#dialect.result(asked.method, result(number)) },
      },
    )
  }

  async #post(message: Message, headers: Headers): Promise<Answer> {
    const response = await post(this.#url, this.#agent, message, headers)
    return { status: response.statusCode ?? 0, headers: response.headers, body: await text(response) }
  }

  close(): void {
    this.#agent.destroy()
  }
}

type Answer = { status: number; headers: IncomingHttpHeaders; body: string }

/** Text that is not JSON is shown unchanged. */
function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return body
  }
}
