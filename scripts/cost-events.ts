/**
 * Counts what events cost: `npm run cost` prints the table, and writes it into docs/guides/costs.md. `npm run cost -- --curve` counts what a
 * publication to many subscribers costs.
 */
import { setTimeout } from 'node:timers/promises'
import { noTally, type Tally } from '../test/support/counted/tally.ts'
import { evict } from '../test/support/objects.ts'
import { startServer, type TestServer } from '../test/support/server.ts'
import { statelessHeaders } from '../test/support/stateless.ts'
import { EventStreamReader } from '../worker/client/event-stream-reader.ts'
import { events } from '../worker/client/wire.ts'
import type { Params } from '../worker/protocol/types.ts'

/** The counts of one operation: of the object of the event, and of the objects of users and of hosts of receivers. */
export type EventCost = Readonly<
  Record<'operation', string> & Record<'http' | 'posts', number> & Record<'index' | 'others', Tally>
>

const dayMs = 86_400_000
/** Objects that are evicted one by one: more of them with a restart. */
const maxEvicted = 20

/** Runs every operation of subscribers and publishers, in real workerd. @param isFull whether those with 1,000 users run, too: seconds */
export async function measureEvents(isFull: boolean): Promise<EventCost[]> {
  const costs: EventCost[] = []
  {
    await using counted = await Counted.start(costs)
    // The first subscription creates tables that all share.
    await counted.subscribe(0, 1)
    await counted.count('`events/subscribe`', () => counted.request('events/subscribe'))
    await counted.count('… again, before it ends', () => counted.request('events/subscribe'))
    await counted.count('`events/unsubscribe`', () => counted.request('events/unsubscribe'))
    await counted.publish('to a user without a subscription', 'nobody', 0)
    await counted.publish('to one user', 'user 0', 1)
    await counted.publish('to one user, whose receiver fails once', 'user 0', 1, 1)
    const [once, twice] = costs.slice(-2) as [EventCost, EventCost]
    costs.pop()
    // The object of the event takes no part: it reads more because its log is longer.
    costs.push({ ...difference(twice, once), operation: '… each further attempt', index: noTally })
    await counted.publish('to one user, whose receiver answers 410: a dead letter', 'user 0', 0, 1, 410)
    await counted.count('… sent again', () => counted.redeliver('user 0', 1))
    await counted.subscribe(1, 10)
    await counted.publish('to 10 users', 'everyone', 10)
    if (isFull) {
      await counted.subscribe(10, 1000)
      await counted.publish('to one of 1,000 users', 'user 0', 1)
      await counted.publish('to 1,000 users', 'everyone', 1000)
    }
  }
  {
    await using counted = await Counted.start(costs)
    await counted.publish('without a subscription', 'everyone', 0)
    await counted.subscribe(0, 1)
    await counted.publish('to it', 'user 0', 1)
    costs.pop()
    await counted.count('a day after its last event', () => counted.wait(dayMs + 1, 2))
    await counted.count('a subscription without events, for a day', () => counted.wait(dayMs, 0))
    await counted.count('a subscription ends because it is not refreshed', () => counted.wait(7 * dayMs, 2))
  }
  {
    await using counted = await Counted.start(costs)
    await counted.publish('without a subscription', 'everyone', 0)
    costs.pop()
    const { cursor } = await counted.count('`events/poll` without events', () => counted.request('events/poll'))
    for (const _ of [1, 2, 3]) await counted.publish('for a reader', 'everyone', 0)
    costs.splice(-3)
    await counted.count('`events/poll` with three events', () => counted.request('events/poll', { cursor }))
    await using stream = await counted.count('`events/stream`, until it is open', () => counted.stream())
    await counted.publish('to one open stream', 'everyone', 0)
    await stream.next()
  }
  return costs
}

/** What a publication to so many users costs, each with a receiver and an object of its own. */
export type CurvePoint = EventCost & { readonly users: number }

/** @param sizes numbers of users, in ascending order */
export async function measureCurve(sizes: readonly number[]): Promise<CurvePoint[]> {
  const costs: EventCost[] = []
  const points: CurvePoint[] = []
  await using counted = await Counted.start(costs)
  let subscribed = 0
  for (const users of sizes) {
    await counted.subscribe(subscribed, users)
    subscribed = users
    await counted.publish(`to ${users} users`, 'tenant', users)
    points.push({ ...(costs.at(-1) as EventCost), users })
  }
  return points
}

function difference(more: EventCost, less: EventCost): EventCost {
  const between = (one: Tally, other: Tally): Tally => {
    const units = Object.entries(one).map(([unit, number]) => [unit, number - other[unit as keyof Tally]])
    return { ...noTally, ...Object.fromEntries(units) }
  }
  return {
    operation: more.operation,
    http: more.http - less.http,
    posts: more.posts - less.posts,
    index: between(more.index, less.index),
    others: between(more.others, less.others),
  }
}

class Counted implements AsyncDisposable {
  readonly #server: TestServer
  readonly #costs: EventCost[]
  /** Names of the objects that may be in memory. */
  readonly #awake = new Set<string>()

  private constructor(server: TestServer, costs: EventCost[]) {
    this.#server = server
    this.#costs = costs
  }

  static async start(costs: EventCost[]): Promise<Counted> {
    return new Counted(await startServer('test/support/counted-events'), costs)
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#server[Symbol.asyncDispose]()
  }

  /** Counts an operation whose objects were evicted before. */
  async count<T>(operation: string, run: () => Promise<T>): Promise<T> {
    await this.#putToSleep()
    const result = await run()
    const { http, posts, index, others } = await this.#counts()
    this.#costs.push({ operation, http, posts, index, others })
    return result
  }

  /** Counts a publication with its deliveries. @param failures attempts that fail, with this status */
  publish(operation: string, to: string, receivers: number, failures = 0, status = 503): Promise<void> {
    const query = new URLSearchParams({ to, failures: `${failures}`, status: `${status}` })
    return this.count(`an event ${operation}`, async () => {
      await this.#ask(`/publish?${query}`)
      await this.#over(receivers + failures)
    })
  }

  /** Sends the dead letters of a user again. */
  async redeliver(to: string, receivers: number): Promise<void> {
    await this.#ask(`/redeliver?${new URLSearchParams({ to })}`)
    await this.#over(receivers)
  }

  /** Resolves when so many attempts were made, and nothing is left to do soon. */
  async #over(posts: number): Promise<void> {
    while (!(await this.#ask<boolean>(`/over?count=${posts}`))) await setTimeout(10)
  }

  /** Subscribes users, each with a receiver of its own. */
  async subscribe(from: number, to: number): Promise<void> {
    for (let next = from; next < to; next += 100) {
      await this.#ask(`/subscribe?from=${next}&to=${Math.min(next + 100, to)}`)
    }
  }

  /** Advances the clock, and runs the alarms that are due. @throws Error if others than these are due */
  async wait(milliseconds: number, alarms: number): Promise<void> {
    const run = await this.#ask(`/later?by=${milliseconds}`)
    if (run !== alarms) throw new Error(`${run} alarms are due, and not ${alarms}`)
  }

  /** Sends a request of a user who has no other subscription. @returns the result */
  async request(method: string, params: object = {}): Promise<Params> {
    const response = await this.#send(method, params)
    const text = await response.text()
    if (!text.includes('"result"')) throw new Error(`${method}: ${response.status} ${text}`)
    return JSON.parse(text).result
  }

  /** Opens a stream. @returns what has arrived after its first message */
  async stream(): Promise<AsyncDisposable & { next(): Promise<unknown> }> {
    const arrived = events(await this.#send('events/stream'), undefined, new EventStreamReader())
    await arrived.next()
    return { next: () => arrived.next(), [Symbol.asyncDispose]: async () => void (await arrived.return(undefined)) }
  }

  #send(method: string, params: object = {}): Promise<Response> {
    const all = {
      name: 'note.saved',
      arguments: {},
      delivery: { mode: 'webhook', url: 'https://hooks.example/', secret: `whsec_${btoa('.'.repeat(32))}` },
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': {},
      },
      ...params,
    }
    return fetch(this.#server.url, {
      method: 'POST',
      headers: { ...statelessHeaders(method), Authorization: 'ada' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: all }),
    })
  }

  async #putToSleep(): Promise<void> {
    await this.#counts()
    if (this.#awake.size > maxEvicted) await this.#server.reload()
    else for (const name of this.#awake) await evict(this.#server, 'McpEvents', name, 'hibernate')
    this.#awake.clear()
  }

  async #counts(): Promise<EventCost & { readonly names: readonly string[] }> {
    const counts = await this.#ask<EventCost & { readonly names: readonly string[] }>('')
    for (const name of counts.names) this.#awake.add(name)
    return counts
  }

  async #ask<T>(path: string): Promise<T> {
    const response = await fetch(new URL(`/counted${path}`, this.#server.url))
    if (!response.ok) throw new Error(`/counted${path}: ${response.status} ${await response.text()}`)
    return response.json() as Promise<T>
  }
}
