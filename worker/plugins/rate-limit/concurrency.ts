/** Concurrency limits, counted in the memory of one isolate. */

/** A limit of concurrency that applies to a call. */
export type Slot = {
  readonly key: string
  /** Calls that may hold the slot at the same time. */
  readonly most: number
  /** Waiting calls, which also count. */
  readonly parked?: number
}

export type Entered = { readonly release: () => void }

/** Milliseconds that a call may take besides the time of its handler. */
const leaseMarginMs = 10_000

/**
 * Returns the milliseconds after which the slots of a call are free again if the runtime ended it without notice.
 *
 * @param handlerTimeMs the time limit of handlers. Default: none, so that the call holds its slots until the isolate ends
 */
export const leaseOf = (handlerTimeMs = Number.POSITIVE_INFINITY): number => handlerTimeMs + leaseMarginMs

/** Milliseconds between two checks of a resumed call for a free slot. */
const pauseMs = 50
/** Milliseconds after which a waiting call that has not checked again counts as lost, with the object that ran it. */
const waitLeaseMs = 10_000

type Lease = { until: number }

export class Slots {
  /** By key: until when, in milliseconds since 1970, each call may hold the slot. */
  readonly #held = new Map<string, Set<Lease>>()
  /** Resumed calls that wait for a slot. New calls must not overtake them. */
  readonly #waiting = new Map<string, Set<Lease>>()
  readonly #now: () => number

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  /**
   * Takes all slots or none.
   *
   * @param leaseMs the time after which a slot is free again if its release is never called, because the runtime ended the call without
   * notice
   * @returns the first slot that is not free, or a function that releases all
   */
  take(slots: readonly Slot[], leaseMs: number): Entered | { readonly full: Slot } {
    const full = slots.find(
      ({ key, most: limit, parked = 0 }) =>
        this.#count(this.#held, key) + this.#count(this.#waiting, key) + parked >= limit,
    )
    return full ? { full } : this.#hold(slots, leaseMs)
  }

  /** Waits until all slots are free, then takes them. @throws the signal's reason */
  async takeWhenFree(slots: readonly Slot[], leaseMs: number, signal: AbortSignal): Promise<Entered> {
    const isFree = () => slots.every(({ key, most: limit }) => this.#count(this.#held, key) < limit)
    if (isFree()) return this.#hold(slots, leaseMs)
    const waiting = this.#add(this.#waiting, slots, waitLeaseMs)
    try {
      while (!isFree()) {
        waiting.until = this.#now() + waitLeaseMs
        await new Promise((resolve) => setTimeout(resolve, pauseMs))
        signal.throwIfAborted()
      }
      return this.#hold(slots, leaseMs)
    } finally {
      this.#remove(this.#waiting, slots, waiting)
    }
  }

  /** True when no call holds anything. */
  get isIdle(): boolean {
    return this.#held.size === 0 && this.#waiting.size === 0
  }

  /** Counts the leases of a key that have not expired, and removes those that have. */
  #count(leases: Map<string, Set<Lease>>, key: string): number {
    const now = this.#now()
    for (const lease of leases.get(key) ?? []) if (lease.until <= now) this.#remove(leases, [{ key }], lease)
    return leases.get(key)?.size ?? 0
  }

  #hold(slots: readonly Slot[], leaseMs: number): Entered {
    const lease = this.#add(this.#held, slots, leaseMs)
    return { release: () => this.#remove(this.#held, slots, lease) }
  }

  #add(leases: Map<string, Set<Lease>>, slots: readonly Slot[], leaseMs: number): Lease {
    const lease = { until: this.#now() + leaseMs }
    for (const { key } of slots) leases.set(key, (leases.get(key) ?? new Set()).add(lease))
    return lease
  }

  #remove(leases: Map<string, Set<Lease>>, slots: readonly Pick<Slot, 'key'>[], lease: Lease): void {
    for (const { key } of slots) {
      const remaining = leases.get(key)
      remaining?.delete(lease)
      if (remaining?.size === 0) leases.delete(key)
    }
  }
}
