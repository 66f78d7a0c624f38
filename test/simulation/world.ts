/** One schedule: a platform, its clients, and what they have seen. */
import type { Load } from './platform/bundle.ts'
import { Platform, type PlatformOptions } from './platform/platform.ts'
import type { Random } from './platform/random.ts'

export const url = 'http://localhost/mcp'

export class World {
  readonly platform: Platform
  readonly random: Random
  /** How often handlers have written an entry of the diary. */
  readonly diary = new Map<string, number>()
  /** Errors of the server that a client has received: only a fault may cause them. */
  readonly serverErrors: string[] = []
  /** Seconds by which faults have moved the clock. */
  jumpedSeconds = 0
  lastFaultAt = 0
  faultCount = 0
  /** Faults after which an object has forgotten what is in memory. */
  lossCount = 0
  /** Clients that have not finished. */
  readonly waiting = new Set<string>()
  /** Called when the schedule is over. They throw an error for what must not be. */
  readonly checks: (() => void)[] = []

  constructor(load: Load, options: PlatformOptions) {
    this.platform = new Platform(load, options)
    this.random = this.platform.random
    this.platform.outside = async (request) => new Response(String(this.#write(await request.text())))
  }

  /** Milliseconds since the last fault. */
  get quietMs(): number {
    return this.platform.loop.now - this.lastFaultAt
  }

  /** How often an entry was written. */
  written(entry: string): number {
    return this.diary.get(entry) ?? 0
  }

  #write(entry: string): number {
    const count = this.written(entry) + 1
    this.diary.set(entry, count)
    this.platform.loop.trail(`diary ${entry} ${count}`)
    return count
  }

  /** Starts a client, which has to finish before the schedule is over. */
  start(label: string, script: () => Promise<void>): void {
    this.waiting.add(label)
    void this.platform
      .runClient(label, async () => {
        await script()
        this.waiting.delete(label)
      })
      .catch(() => {})
  }

  sleep(delayMs: number): Promise<void> {
    return this.platform.sleep(delayMs)
  }

  /** Runs work beside a client. What it throws ends the schedule. */
  beside(work: Promise<unknown>): void {
    work.catch((problem) => {
      this.platform.loop.failure ??= problem
    })
  }
}
