/** Change notifications of a server, and entries that are enabled and disabled at run time. */
import type { List, Recipients, ServerEvent, SubscriberCount, TopicRecipients } from '../protocol/changes.ts'
import { observe, TrackedPromise } from './tracked-promise.ts'

/** Turns of the microtask queue in which an application awaits a delivery, also as the last one of several. */
const turnsToAwait = 100

/**
 * Durable Objects that have received a change, as texts. Several servers that mount one server may deliver its change through the same
 * object: the first server delivers it, the others skip the object.
 */
export type Delivered = Set<string>

/**
 * Delivers change notifications, and stores which entries are enabled: what `subscriptions()` of `edgemcp/subscriptions` provides to an
 * endpoint.
 */
export interface Changes {
  /** Whether anything is delivered. Default: true. */
  readonly isConnected?: boolean
  /** Publishes a change, or a log message for sessions. Resolves once the delivery is certain. */
  publish(change: ServerEvent, recipients?: Recipients, delivered?: Delivered): Promise<void>
  /** Counts the subscribers who receive an update of a resource. Default: none. */
  subscribers?(uri: string, recipients?: TopicRecipients, delivered?: Delivered): Promise<SubscriberCount>
  /** Enables or disables an entry, and publishes that its list has changed. */
  setEnabled(list: List, name: string, isEnabled: boolean, delivered?: Delivered): Promise<void>
  /** Returns the entries that were enabled or disabled, by `toggleKey`. */
  enabledOverrides(): Promise<Readonly<Record<string, boolean>>>
}

/** Delivers the changes of one server through each of its endpoints, and through the servers that mount it. */
export class ChangeHub implements Changes {
  readonly #connected = new Map<unknown, Changes>()
  #waitUntil: ((work: Promise<void>) => void) | undefined

  /**
   * Delivers through these from now on.
   *
   * @param key of several with the same key, the last one delivers
   */
  connect(key: unknown, changes: Changes): void {
    this.#connected.set(key, changes)
  }

  /** @param waitUntil gets each delivery, which rejects only if the application does not await it: its failure is reported once */
  completeWith(waitUntil: (work: Promise<void>) => void): void {
    this.#waitUntil = waitUntil
  }

  get isConnected(): boolean {
    return this.#delivering().length > 0
  }

  publish(change: ServerEvent, recipients?: Recipients, delivered: Delivered = new Set()): Promise<void> {
    return this.#deliver((changes) => changes.publish(change, recipients, delivered))
  }

  /** @throws Error when nothing delivers */
  async subscribers(
    uri: string,
    recipients?: TopicRecipients,
    delivered: Delivered = new Set(),
  ): Promise<SubscriberCount> {
    const counts = await Promise.all(
      this.#required().map((changes) => changes.subscribers?.(uri, recipients, delivered) ?? []),
    )
    return sumOf(counts.flat())
  }

  setEnabled(list: List, name: string, isEnabled: boolean, delivered: Delivered = new Set()): Promise<void> {
    return this.#deliver((changes) => changes.setEnabled(list, name, isEnabled, delivered))
  }

  async enabledOverrides(): Promise<Readonly<Record<string, boolean>>> {
    const all = await Promise.all(this.#delivering().map((changes) => changes.enabledOverrides()))
    // An endpoint that was added later lacks the overrides of before. Where they differ, the entry is disabled.
    const disabled = all.flatMap((overrides) => Object.entries(overrides).filter(([, isEnabled]) => !isEnabled))
    return Object.assign({}, ...all, Object.fromEntries(disabled))
  }

  /** @throws Error when nothing delivers. If the application does not await the promise, the failure is reported */
  #deliver(deliver: (changes: Changes) => Promise<void>): Promise<void> {
    const delivery = new TrackedPromise<void>((resolve) => resolve(this.#deliverToEach(deliver)))
    if (!this.#waitUntil) return delivery
    const done = new Promise<void>((resolve, reject) => {
      observe(delivery, resolve, async (thrown) => {
        for (let turn = 0; turn < turnsToAwait && !delivery.isAwaited; turn++) await undefined
        if (delivery.isAwaited) resolve()
        else reject(thrown)
      })
    })
    this.#waitUntil(done)
    return delivery
  }

  async #deliverToEach(deliver: (changes: Changes) => Promise<void>): Promise<void> {
    await Promise.all(this.#required().map(deliver))
  }

  /** @throws Error when nothing delivers */
  #required(): Changes[] {
    const delivering = this.#delivering()
    if (delivering.length > 0) return delivering
    throw new Error(
      'Change notifications are disabled: add subscriptions() of "edgemcp/subscriptions" to the plugins of serve()',
    )
  }

  #delivering(): Changes[] {
    return [...this.#connected.values()].filter(({ isConnected = true }) => isConnected)
  }
}

export const sumOf = (counts: readonly SubscriberCount[]): SubscriberCount => ({
  sessions: counts.reduce((sum, { sessions }) => sum + sessions, 0),
  streams: counts.reduce((sum, { streams }) => sum + streams, 0),
  isComplete: counts.every(({ isComplete }) => isComplete),
})
