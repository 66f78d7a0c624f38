/** Publishes changes at one object: logs them, coalesces them, sends them to sockets, and lets `SessionDelivery` deliver them to sessions. */
import { relayMessage } from '../../worker/protocol/relay-messages.ts'
import type { Alarms } from '../shared/alarms.ts'
import { type ChangeLog, type LoggedChange, retentionMs } from './change-log.ts'
import type { Listeners } from './listeners.ts'
import { Outbox } from './outbox.ts'
import type { SessionDelivery } from './session-delivery.ts'
import type { SessionSubscriptions } from './session-subscriptions.ts'
import type { SubscriptionsHost } from './subscriptions-host.ts'

/** Milliseconds in which repetitions of a change are sent as one. */
const coalesceMs = 100
/** Milliseconds after which an alarm continues unfinished deliveries. */
export const retryAfterMs = 10_000
/** Topics whose last change is stored in memory, for coalescing. */
const maxRecentTopics = 10_000

export type PublisherParts = {
  readonly host: SubscriptionsHost
  readonly log: ChangeLog
  readonly listeners: Listeners
  readonly sessions: SessionSubscriptions
  readonly delivery: SessionDelivery
  readonly alarms: Alarms
  waitUntil(work: Promise<unknown>): void
}

export class Publisher {
  readonly #parts: PublisherParts
  readonly #outbox = new Outbox()
  /** Milliseconds since 1970: when a change was last sent, by its first topic. */
  readonly #sentAt = new Map<string, number>()
  /** Changes that are sent after `coalesceMs`, by their first topic: their number in the log. */
  readonly #waiting = new Map<string, number>()
  /** Whether changes may wait without a timer: those of the last instance, and those that a timer could not write. */
  #mustRecover = true

  constructor(parts: PublisherParts) {
    this.#parts = parts
  }

  /**
   * Logs a change if a client has subscribed to it, and sends it now or after `coalesceMs`.
   *
   * @param isForSessions whether it is also for sessions
   */
  publish(change: string, topics: readonly string[], isForSessions = true): void {
    const { log, listeners, sessions, alarms } = this.#parts
    const now = Date.now()
    this.recover()
    const [key = ''] = topics
    if (this.#waiting.has(key)) return
    const hasSessions = isForSessions && sessions.hasAny(topics)
    if (!listeners.needLog(now) && !hasSessions) return
    const remainingMs = (this.#sentAt.get(key) ?? 0) + coalesceMs - now
    const waits = remainingMs > 0
    const seq = log.append(change, topics, waits ? null : now, hasSessions)
    void alarms.add(now + (hasSessions || waits ? retryAfterMs : retentionMs))
    if (!waits) return this.#send(seq, change, topics)
    this.#waiting.set(key, seq)
    setTimeout(() => {
      // `recover` may have sent it.
      if (this.#waiting.get(key) === seq) this.#attempt(() => this.#sendWaiting({ seq, change, topics }))
    }, remainingMs)
  }

  /**
   * Deletes old changes, and moves the positions of all streams past them: a stream that has received nothing for long continues when this
   * object is lost. Returns true if changes remain that have to be deleted later.
   */
  prune(now: number): boolean {
    const { log, listeners } = this.#parts
    const { pruned } = log
    const remain = log.prune(now)
    if (log.pruned > pruned) this.#outbox.send(changeMessage(log.last, ''), listeners.all)
    return remain
  }

  /** Waits while so much is queued for sockets that it would fill the memory. */
  waitForCapacity(): Promise<void> {
    return this.#outbox.waitForCapacity()
  }

  /** Sends changes that wait since the last instance was lost, or since the storage refused a write. Does not throw. */
  recover(): void {
    if (!this.#mustRecover) return
    this.#mustRecover = false
    this.#attempt(() => {
      for (const waiting of this.#parts.log.waiting) this.#sendWaiting(waiting)
    })
  }

  /** Sends changes that were promised to be sent. If the storage refuses, the next event or alarm sends them. */
  #attempt(send: () => void): void {
    try {
      send()
    } catch (problem) {
      this.#mustRecover = true
      this.#parts.host.report(problem)
    }
  }

  #sendWaiting({ seq, change, topics }: Pick<LoggedChange, 'seq' | 'change' | 'topics'>): void {
    const { log, sessions } = this.#parts
    const sent = log.requeue(seq, Date.now(), sessions.hasAny(topics))
    this.#waiting.delete(topics[0] ?? '')
    this.#send(sent, change, topics)
  }

  #send(seq: number, change: string, topics: readonly string[]): void {
    if (this.#sentAt.size > maxRecentTopics) this.#sentAt.clear()
    this.#sentAt.set(topics[0] ?? '', Date.now())
    this.#outbox.send(changeMessage(seq, change), this.#parts.listeners.to(topics))
    this.#parts.waitUntil(this.#parts.delivery.start())
  }
}

/** Formats a logged change as the message of a socket. An empty one only moves the position of its stream. */
export const changeMessage = (seq: number, change: string): string => relayMessage(change, String(seq))
