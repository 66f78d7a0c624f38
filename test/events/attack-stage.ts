/** What an attack is made with: callers of one Worker, and receivers on the internet outside of it. */
import { vi } from 'vitest'
import { storedRows } from '../support/objects.ts'
import type { TestServer } from '../support/server.ts'
import { statelessHeaders } from '../support/stateless.ts'
import type { Internet } from './receivers.ts'
import { secretOf } from './receivers.ts'

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'attacker', version: '1' },
}

export type User = { readonly subject: string; readonly [claim: string]: unknown }
export type Outcome = {
  readonly status: number
  readonly result?: { readonly [name: string]: unknown }
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}
export type Post = { readonly url: string; readonly headers: Headers; readonly text: string; readonly at: number }
type Reply = (post: Post) => Response | Promise<Response>

/** Answers a challenge as the protocol says. */
export const echo: Reply = ({ text }) => Response.json({ challenge: JSON.parse(text).challenge })
export const challengeIn = ({ text }: Post): string => JSON.parse(text).challenge
const isChallenge = ({ text }: Post): boolean => JSON.parse(text).type === 'verification'
const isTermination = ({ text }: Post): boolean => JSON.parse(text).type === 'terminated'

/** One row has a host, a user and a topic of its own. */
export class Stage {
  readonly host: string
  readonly user: User
  readonly secret: string
  /** POSTs that reached the host, or the address of one of its subscriptions. */
  readonly challenges: Post[] = []
  readonly events: Post[] = []
  readonly #terminated = Promise.withResolvers<Post>()
  /** Resolves with the notice that the server has ended a subscription. */
  readonly terminated = this.#terminated.promise
  verify: Reply = echo
  answer: Reply = () => new Response(null, { status: 204 })
  readonly internet: Internet
  readonly server: TestServer
  #waiting: { readonly count: number; readonly resolve: () => void }[] = []

  constructor(server: TestServer, internet: Internet, number: number) {
    this.server = server
    this.internet = internet
    this.host = `row-${number}.example`
    this.user = { subject: `row-${number}` }
    this.secret = secretOf(`row ${number}`)
    internet.hosts.set(this.host, (request) => this.receive(request))
  }

  get url(): string {
    return `https://${this.host}/hook`
  }

  /** Params of a subscription. */
  params(change: Readonly<Record<string, unknown>> = {}, delivery: Readonly<Record<string, unknown>> = {}) {
    return {
      name: 'order.paid',
      arguments: { shop: this.host },
      delivery: { mode: 'webhook', url: this.url, secret: this.secret, ...delivery },
      ...change,
    }
  }

  /** Everything that was posted, in order. */
  get posts(): readonly Post[] {
    return [...this.challenges, ...this.events].sort((one, other) => one.at - other.at)
  }

  /** The totals of the orders that have arrived. */
  get totals(): readonly number[] {
    return this.events.map(({ text }) => JSON.parse(text).data.total)
  }

  /** Receives what is sent to the host of a URL, too. */
  listen(url: string): void {
    this.internet.hosts.set(new URL(url).host, (request) => this.receive(request))
  }

  send(method: string, params: object | string, user = this.user): Promise<Outcome> {
    return this.sendAs(user, method, params)
  }

  /** Sends a request. @param params JSON, or a value */
  async sendAs(user: User | undefined, method: string, params: object | string): Promise<Outcome> {
    const text = typeof params === 'string' ? params : JSON.stringify(params)
    const withMeta = text.replace(/\}$/, `${text === '{}' ? '' : ','}"_meta":${JSON.stringify(meta)}}`)
    const body = `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${withMeta}}`
    const headers = {
      ...statelessHeaders(method),
      ...(user && { Authorization: `Bearer ${JSON.stringify(user)}` }),
    }
    const response = await fetch(this.server.url, { method: 'POST', headers, body })
    const answer = await response.text()
    // A response that takes long is a stream.
    const data = answer.startsWith('{') ? answer : /^data: (\{.*)/m.exec(answer)?.[1]
    const { result, error }: Outcome = JSON.parse(data ?? 'null')
    return { status: response.status, ...(result && { result }), ...(error && { error }) }
  }

  /** Subscribes. @returns `subscribed`, or the error */
  async subscribe(params: object | string = this.params(), user?: User): Promise<unknown> {
    const { result, ...outcome } = await this.send('events/subscribe', params, user)
    return result ? 'subscribed' : outcome
  }

  async unsubscribe(params: object = this.params(), user?: User): Promise<unknown> {
    const { result, ...outcome } = await this.send('events/unsubscribe', params, user)
    return result ? 'unsubscribed' : outcome
  }

  /** @returns the id of the event, or the problem */
  async publish(payload: object = {}, recipients: object = { everyone: true }, options: object = {}): Promise<string> {
    const body = JSON.stringify({
      name: 'order.paid',
      payload: { shop: this.host, total: 1, ...payload },
      recipients,
      options,
    })
    const response = await fetch(new URL('/publish', this.server.url), { method: 'POST', body })
    const answer = (await response.json()) as string | { problem: string }
    return typeof answer === 'string' ? answer : answer.problem
  }

  /** Resolves when so many attempts have come. */
  async received(count: number): Promise<readonly Post[]> {
    if (this.events.length < count) {
      await new Promise<void>((resolve) => void this.#waiting.push({ count, resolve }))
    }
    return this.events
  }

  async receive(request: Request): Promise<Response> {
    const post = { url: request.url, headers: request.headers, text: await request.text(), at: Date.now() }
    if (isChallenge(post)) {
      this.challenges.push(post)
      return this.verify(post)
    }
    if (isTermination(post)) {
      this.#terminated.resolve(post)
      return new Response(null, { status: 204 })
    }
    this.events.push(post)
    for (const { count, resolve } of this.#waiting) if (this.events.length >= count) resolve()
    return this.answer(post)
  }

  /** Runs work by another clock: no other row may run. */
  async at<T>(lateMs: number, work: () => Promise<T>): Promise<T> {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + lateMs })
    try {
      return await work()
    } finally {
      vi.useRealTimers()
    }
  }

  /** The rows that all objects store, as JSON. */
  stored(): Promise<string> {
    return storedRows(this.server, 'McpEvents')
  }
}
