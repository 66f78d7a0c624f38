/** A client that reads the log of an event, by poll or on a stream. It knows which events it must receive, and which it must not. */
import assert from 'node:assert/strict'
import type { World } from '../world.ts'
import { isFor, type Saved, type User } from './event-receiver.ts'
import { eventsOf } from './event-stream.ts'
import type { Message } from './session-client.ts'
import { type Fields, StatelessClient } from './stateless-client.ts'
import { unlessLost } from './unless-lost.ts'

const secondMs = 1000
const minuteMs = 60 * secondMs
/** Milliseconds for which events can be read. */
const logMs = 60 * minuteMs

export class EventReader {
  readonly #world: World
  readonly #all: readonly Saved[]
  readonly #user: User
  readonly #topic: string
  readonly #client: StatelessClient
  readonly #stop = new AbortController()
  readonly #isStream: boolean
  readonly #begun = Promise.withResolvers<void>()
  #cursor: string | null = null
  /** When its cursor was known to be current. */
  #currentAt: number
  /** Events that were sent before need not be received. */
  #since = Number.POSITIVE_INFINITY
  readonly #received: number[] = []

  constructor(world: World, all: readonly Saved[], user: User, topic: string) {
    this.#world = world
    this.#all = all
    this.#user = user
    this.#topic = topic
    this.#client = new StatelessClient(world, user.token)
    this.#isStream = world.random.chance(0.5)
    this.#currentAt = world.now()
  }

  get #params(): Fields {
    return { name: 'record.saved', arguments: { topic: this.#topic }, cursor: this.#cursor }
  }

  async begin(): Promise<void> {
    if (this.#isStream) this.#world.beside(this.#listen())
    else await this.#poll()
    await this.#begun.promise
  }

  end(): void {
    this.#stop.abort()
  }

  /** Receives what was acknowledged so far. */
  async catchUp(): Promise<void> {
    const since = this.#world.now()
    for (;;) {
      if (!this.#isStream) await this.#poll()
      const missing = this.#all.filter((one) => this.#isOwed(one) && !this.#received.includes(one.number))
      if (missing.length === 0) return
      const { quietMs } = this.#world
      const isLate = Math.min(this.#world.now() - since, quietMs) > (this.#isStream ? 5 * minuteMs : 0)
      const numbers = missing.map(({ number }) => number)
      assert.ok(!isLate, `events ${numbers} were acknowledged, and a reader of the log has not received them`)
      await this.#world.sleep(secondMs)
    }
  }

  #isOwed(saved: Saved): boolean {
    return saved.savedAt !== undefined && saved.sentAt >= this.#since && isFor(saved, this.#user, this.#topic)
  }

  async #poll(): Promise<void> {
    for (let hasMore = true; hasMore; ) {
      const { result, error } = await this.#client.ask('events/poll', { ...this.#params, maxEvents: 2 })
      // A clock that jumps ends a request.
      if (error?.code === -32603) continue
      assert.ok(result, `events/poll: ${JSON.stringify(error)}`)
      const { events, cursor, truncated } = result
      this.#take(String(cursor), truncated === true)
      assert.ok(Array.isArray(events))
      for (const event of events) this.#receive(event)
      hasMore = result.hasMore === true
    }
  }

  async #listen(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await unlessLost(async () => {
        const { status, headers, body } = await this.#client.post('events/stream', this.#params, this.#stop.signal)
        if (!headers.get('content-type')?.startsWith('text/event-stream')) {
          const text = await body.text()
          assert.ok(status >= 500 || text.includes('-32603'), `events/stream: ${status} ${text}`)
          return
        }
        for await (const { data } of eventsOf(body)) {
          const { method, params = {} }: Message = JSON.parse(data ?? '{}')
          if (!method?.startsWith('notifications/events/')) continue
          if (method.endsWith('/event')) this.#receive(params)
          this.#take(String(params.cursor), params.truncated === true)
        }
      })
      if (!this.#stop.signal.aborted) await this.#world.sleep(secondMs)
    }
  }

  #take(cursor: string, isTruncated: boolean): void {
    const now = this.#world.now()
    const { jumpedSeconds, heldSeconds } = this.#world
    const ageMs = now - this.#currentAt + heldSeconds * secondMs
    const isOld = ageMs > logMs - minuteMs || jumpedSeconds > 0
    if (isTruncated) {
      assert.ok(isOld, 'the log has lost events before their time')
      this.#since = now
    }
    this.#since = Math.min(this.#since, now)
    this.#cursor = cursor
    this.#currentAt = now
    this.#begun.resolve()
  }

  #receive({ data }: Fields): void {
    const { number } = Object(data)
    const saved = this.#all.find((one) => one.number === number) ?? assert.fail(`event ${number} was never published`)
    assert.ok(isFor(saved, this.#user, this.#topic), `event ${number} is for others`)
    // A response that was lost is read again.
    if (this.#received.includes(number)) return
    const overtaken = this.#all.find(
      (one) => this.#isOwed(one) && Number(one.savedAt) < saved.sentAt && !this.#received.includes(one.number),
    )
    assert.equal(overtaken?.number, undefined, `event ${number} has overtaken another one`)
    this.#received.push(number)
  }
}
