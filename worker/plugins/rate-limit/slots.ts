/** How many calls run at a time, counted in the memory of one isolate. */

/** A limit of concurrency that applies to a call. */
export type Slot = {
  readonly key: string
  /** Calls that may hold it at a time. */
  readonly most: number
  /** Calls that count as well, although nothing of them runs now. */
  readonly parked?: number
}

export type Entered = { readonly release: () => void }

/** Milliseconds between two looks of a resumed call for a free slot. */
const pauseMs = 50

export class Slots {
  /** For each key: until when, in milliseconds, each holder may hold it. */
  readonly #held = new Map<string, Set<{ readonly until: number }>>()
  /** Resumed calls that wait for a slot. New calls must not overtake them. */
  readonly #waiting = new Map<string, number>()
  readonly #now: () => number

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  /**
   * Takes all slots or none.
   *
   * @param leaseMs how long a call can run at most. A slot whose release never comes, because the runtime ended its call
   * without a word, is free again after that time
   * @returns the first slot that is not free, or what gives them back
   */
  take(slots: readonly Slot[], leaseMs: number): Entered | { readonly full: Slot } {
    const full = slots.find(
      ({ key, most: limit, parked = 0 }) => this.#count(key) + (this.#waiting.get(key) ?? 0) + parked >= limit,
    )
    return full ? { full } : this.#hold(slots, leaseMs)
  }

  /** Waits until all slots are free, then takes them. @throws the signal's reason */
  async takeWhenFree(slots: readonly Slot[], leaseMs: number, signal: AbortSignal): Promise<Entered> {
    const isFree = () => slots.every(({ key, most: limit }) => this.#count(key) < limit)
    if (isFree()) return this.#hold(slots, leaseMs)
    for (const { key } of slots) this.#waiting.set(key, (this.#waiting.get(key) ?? 0) + 1)
    try {
      while (!isFree()) {
        await new Promise((resolve) => setTimeout(resolve, pauseMs))
        signal.throwIfAborted()
      }
      return this.#hold(slots, leaseMs)
    } finally {
      for (const { key } of slots) {
        const remaining = (this.#waiting.get(key) ?? 1) - 1
        if (remaining > 0) this.#waiting.set(key, remaining)
        else this.#waiting.delete(key)
      }
    }
  }

  /** True when no call holds anything. */
  get isIdle(): boolean {
    return this.#held.size === 0 && this.#waiting.size === 0
  }

  #count(key: string): number {
    const holders = this.#held.get(key)
    if (!holders) return 0
    const now = this.#now()
    for (const holder of holders) if (holder.until <= now) this.#drop(key, holder)
    return holders.size
  }

  #hold(slots: readonly Slot[], leaseMs: number): Entered {
    const holder = { until: this.#now() + leaseMs }
    for (const { key } of slots) {
      const holders = this.#held.get(key) ?? new Set()
      this.#held.set(key, holders.add(holder))
    }
    return {
      release: () => {
        for (const { key } of slots) this.#drop(key, holder)
      },
    }
  }

  #drop(key: string, holder: { readonly until: number }): void {
    const holders = this.#held.get(key)
    holders?.delete(holder)
    if (holders?.size === 0) this.#held.delete(key)
  }
}
