/**
 * All events of a simulation in one queue, ordered by a virtual clock. The seed orders events of the same time.
 *
 * Microtasks are not events: after each event, everything that it caused settles before the next one.
 */
import { createHash } from 'node:crypto'
import type { Random } from './random.ts'

/** What waits for an event. Once it is lost, the event does not happen. */
export type Owner = { readonly isLost: boolean }

export type ScheduledEvent = {
  readonly at: number
  readonly label: string
  readonly run: () => void
  readonly owner: Owner | undefined
  isCancelled: boolean
  readonly order: readonly [tie: number, index: number]
}

/** Events of one schedule: more would be an endless loop. */
const maxEvents = 50_000

/** Events that share one turn of the event loop of Node.js. */
const immediatesOfTurn = 64

export class EventLoop {
  readonly start = Date.UTC(2026, 10, 24)
  /** Milliseconds since 1970, with fractions. */
  now = this.start
  /** Events that have happened. */
  count = 0
  /** Called after each event, when all that it caused has settled. */
  onEvent: ((label: string) => void) | undefined
  /** Ends the schedule. */
  failure: unknown
  /** The lines of the trace, if they are kept. */
  readonly trace: string[] = []
  readonly #random: Random
  readonly #keepsTrace: boolean
  readonly #digest = createHash('sha256')
  readonly #queue = new EventQueue()
  #scheduled = 0
  #immediates = 0
  #idle: (() => void) | undefined
  readonly #natives: { readonly isBusy: boolean }

  /** @param natives operations on threads, which are waited for */
  constructor(random: Random, natives: { readonly isBusy: boolean }, keepsTrace: boolean) {
    this.#random = random
    this.#natives = natives
    this.#keepsTrace = keepsTrace
  }

  /** Adds a line to the trace. */
  trail(text: string): void {
    const line = `${(this.now - this.start).toFixed(1)} ${text}`
    this.#digest.update(line)
    if (this.#keepsTrace) this.trace.push(line)
  }

  /** Identifies the trace: two runs of one seed have the same. */
  digest(): string {
    return this.#digest.copy().digest('hex').slice(0, 16)
  }

  after(delayMs: number, label: string, run: () => void, owner?: Owner): ScheduledEvent {
    return this.at(this.now + Math.max(0, delayMs), label, run, owner)
  }

  at(at: number, label: string, run: () => void, owner?: Owner): ScheduledEvent {
    this.#scheduled += 1
    const order = [this.#random.next(), this.#scheduled] as const
    const event = { at, label, run, owner, isCancelled: false, order }
    this.#queue.push(event)
    return event
  }

  /** Runs events until there are none, or until the clock would pass a time. */
  async run(until: number): Promise<void> {
    await this.#settle()
    for (
      let next = this.#queue.first();
      next && next.at <= until && this.failure === undefined;
      next = this.#queue.first()
    ) {
      this.#queue.shift()
      if (next.isCancelled || next.owner?.isLost) continue
      this.now = Math.max(this.now, next.at)
      this.count += 1
      if (this.count > maxEvents) throw new Error(`The schedule has more than ${maxEvents} events`)
      this.trail(next.label)
      next.run()
      await this.#settle()
      this.onEvent?.(next.label)
    }
  }

  /** Waits for all that the event caused: Node.js runs all microtasks before it calls the next function of `setImmediate`. */
  async #settle(): Promise<void> {
    do await new Promise<void>((resolve) => this.#onIdle(resolve))
    while (this.#natives.isBusy)
  }

  /** Calls a function once all microtasks have run. Many calls share one turn of the real event loop, which takes longer than most events. */
  #onIdle(work: () => void): void {
    this.#idle = work
    if (this.#immediates > 0) return
    this.#immediates = immediatesOfTurn
    const runWork = () => {
      this.#immediates -= 1
      const idle = this.#idle
      this.#idle = undefined
      idle?.()
    }
    for (let index = 0; index < immediatesOfTurn; index += 1) setImmediate(runWork)
  }
}

/** A binary heap. */
class EventQueue {
  readonly #events: ScheduledEvent[] = []

  first(): ScheduledEvent | undefined {
    return this.#events[0]
  }

  push(event: ScheduledEvent): void {
    const events = this.#events
    let index = events.push(event) - 1
    while (index > 0) {
      const parent = (index - 1) >> 1
      const other = events[parent] as ScheduledEvent
      if (!isBefore(event, other)) break
      events[index] = other
      index = parent
    }
    events[index] = event
  }

  shift(): void {
    const events = this.#events
    const last = events.pop()
    if (!last || events.length === 0) return
    let index = 0
    for (;;) {
      const left = events[2 * index + 1]
      const right = events[2 * index + 2]
      if (!left) break
      const isRight = right !== undefined && isBefore(right, left)
      const child = isRight ? right : left
      if (!isBefore(child, last)) break
      events[index] = child
      index = 2 * index + (isRight ? 2 : 1)
    }
    events[index] = last
  }
}

function isBefore(one: ScheduledEvent, other: ScheduledEvent): boolean {
  if (one.at !== other.at) return one.at < other.at
  return one.order[0] !== other.order[0] ? one.order[0] < other.order[0] : one.order[1] < other.order[1]
}
