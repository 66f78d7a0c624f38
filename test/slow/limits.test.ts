import { describe, expect } from 'vitest'
import { Slots } from '../../worker/plugins/rate-limit/concurrency.ts'
import { type Counted, takeEach } from '../../worker/plugins/rate-limit/quota.ts'
import type { Chance } from '../support/random.ts'
import { property } from './cases.ts'

const minuteMs = 60_000

type Limits = { readonly concurrent: number; readonly quota: number }
type Running = {
  readonly tool: number
  readonly release: () => void
  readonly endsAt: number
  readonly isLost: boolean
}

/** A caller of a server with a few tools: the limiter under test, and beside it the plainest model of what it must admit. */
class Schedule {
  now: number
  readonly #random: Chance
  readonly #common: Limits
  readonly #tools: readonly Limits[]
  readonly #slots: Slots
  readonly #stored = new Map<string, unknown>()
  #running: Running[] = []
  /** The model: calls admitted in the current window, of the server and of each tool. */
  #window = 0
  #admitted: number[]

  constructor(random: Chance) {
    this.#random = random
    this.now = random.whole(1, 1_000) * minuteMs + random.below(minuteMs)
    this.#common = { concurrent: random.whole(1, 6), quota: random.whole(1, 12) }
    this.#tools = random.some(1, 3, () => ({ concurrent: random.whole(1, 4), quota: random.whole(1, 8) }))
    this.#slots = new Slots(() => this.now)
    this.#admitted = this.#tools.map(() => 0)
  }

  /** Calls once, as `rateLimit()` does: slots first, then the counters, and slots back when a counter is full. */
  call(): void {
    const tool = this.#random.below(this.#tools.length)
    const own = this.#tools[tool] as Limits
    const wanted = this.#slotsOf(tool)
    const before = JSON.stringify([...this.#stored])
    const isExpected = this.#admits(tool)
    const entered = this.#slots.take(wanted, 10 * minuteMs)
    if ('full' in entered) {
      expect(isExpected).toBe(false)
      expect(JSON.stringify([...this.#stored])).toBe(before)
      return
    }
    const counted: Counted[] = [
      { name: 'server', most: this.#common.quota, seconds: 60 },
      { name: `tool ${tool}`, most: own.quota, seconds: 60 },
    ]
    const store = {
      get: (key: string) => this.#stored.get(key),
      put: (key: string, value: unknown) => void this.#stored.set(key, value),
    }
    const full = takeEach(store, counted, this.now)
    expect(full === undefined).toBe(isExpected)
    if (full) {
      entered.release()
      expect(JSON.stringify([...this.#stored])).toBe(before)
      expect(full.wait).toBeGreaterThan(0)
      return
    }
    this.#admitted[tool] = (this.#admitted[tool] ?? 0) + 1
    const { release } = entered
    const isLost = this.#random.rarely(20)
    this.#running.push({ tool, release, isLost, endsAt: this.now + 10 * minuteMs })
  }

  /** A call ends, or is cancelled and then ends: its slot comes back once, however often it is given back. */
  end(): void {
    const ready = this.#running.filter(({ isLost }) => !isLost)
    if (ready.length === 0) return
    const ended = this.#random.one(ready)
    ended.release()
    if (this.#random.rarely(2)) ended.release()
    this.#running = this.#running.filter((call) => call !== ended)
  }

  pass(milliseconds: number): void {
    this.now += milliseconds
    const isOver = ({ endsAt }: Running) => endsAt <= this.now
    // No call runs for longer than its lease. The runtime ends some without a word: then only the lease frees the slot.
    for (const { release } of this.#running.filter((call) => isOver(call) && !call.isLost)) release()
    this.#running = this.#running.filter((call) => !isOver(call))
  }

  check(): void {
    const { concurrent } = this.#common
    expect(this.#running.length).toBeLessThanOrEqual(concurrent)
    for (const [tool, { concurrent: most, quota }] of this.#tools.entries()) {
      expect(this.#running.filter((call) => call.tool === tool).length).toBeLessThanOrEqual(most)
      expect(this.#admitted[tool]).toBeLessThanOrEqual(quota)
    }
  }

  /** Everything ends. No slot may be left. */
  finish(): void {
    for (const { release } of this.#running.filter(({ isLost }) => !isLost)) release()
    this.#running = []
    this.now += 20 * minuteMs
    for (const [tool, { concurrent }] of this.#tools.entries()) {
      const most = Math.min(concurrent, this.#common.concurrent)
      const taken = Array.from({ length: most }, () => this.#slots.take(this.#slotsOf(tool), minuteMs))
      expect(taken.every((entered) => !('full' in entered))).toBe(true)
      expect('full' in this.#slots.take(this.#slotsOf(tool), minuteMs)).toBe(true)
      for (const entered of taken) if (!('full' in entered)) entered.release()
    }
    expect(this.#slots.isIdle).toBe(true)
  }

  #slotsOf(tool: number) {
    return [
      { key: 'server', most: this.#common.concurrent },
      { key: `tool ${tool}`, most: (this.#tools[tool] as Limits).concurrent },
    ]
  }

  #admits(tool: number): boolean {
    const window = Math.floor(this.now / minuteMs)
    if (window !== this.#window) {
      this.#window = window
      this.#admitted = this.#tools.map(() => 0)
    }
    const own = this.#tools[tool] as Limits
    return (
      this.#running.length < this.#common.concurrent &&
      this.#running.filter((call) => call.tool === tool).length < own.concurrent &&
      this.#admitted.reduce((sum, count) => sum + count, 0) < this.#common.quota &&
      (this.#admitted[tool] ?? 0) < own.quota
    )
  }
}

describe('limits', () => {
  property('admit the calls that a model of them admits, and release each slot', 10_000, (random) => {
    const schedule = new Schedule(random)
    for (let step = random.whole(5, 60); step > 0; step -= 1) {
      const kind = random.below(10)
      if (kind < 4) schedule.call()
      else if (kind < 5) for (let calls = random.whole(2, 10); calls > 0; calls -= 1) schedule.call()
      else if (kind < 9) schedule.end()
      else schedule.pass(random.below(3 * minuteMs))
      schedule.check()
    }
    schedule.finish()
  })
})
