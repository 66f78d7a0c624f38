/** Publishes changes at one object: logs them, coalesces them, sends them to sockets, and delivers them to sessions. */
import { relayMessage } from '../../worker/protocol/relay-messages.ts'
import type { SessionRpc } from '../rpc.ts'
import type { Alarms } from '../shared/alarms.ts'
import { type ChangeLog, type LoggedChange, retentionMs } from './change-log.ts'
import type { Listeners } from './listeners.ts'
import { Outbox } from './outbox.ts'
import type { ParkedSession, ParkedSessions } from './parked-sessions.ts'
import { callSession } from './session-delivery.ts'
import type { SessionSubscriptions } from './session-subscriptions.ts'
import type { SubscriptionsHost } from './subscriptions-host.ts'

/** Milliseconds in which repetitions of a change are sent as one. */
const coalesceMs = 100
/** Sessions that are called at the same time, and batches that are sent before another event gets a turn. */
const [sessionsPerBatch, batchesPerTurn] = [100, 5]
/** Milliseconds after which an alarm continues unfinished deliveries. */
export const retryAfterMs = 10_000
/** Milliseconds after which a session that cannot be called is removed: its id has expired. */
const maxParkedMs = 7 * 24 * 60 * 60_000
/** Topics whose last change is stored in memory, for coalescing. */
const maxRecentTopics = 10_000

export type PublisherParts = {
  readonly host: SubscriptionsHost
  readonly log: ChangeLog
  readonly listeners: Listeners
  readonly sessions: SessionSubscriptions
  readonly parked: ParkedSessions
  /** Names the object, so that the names of its deliveries are unique. */
  readonly id: string
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
  #isDelivering = false
  /** Parked sessions that are being called. */
  readonly #catchingUp = new Set<string>()
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
    this.#parts.waitUntil(this.deliverToSessions())
  }

  /** Delivers changes to the sessions that have not received them, in batches. */
  async deliverToSessions(): Promise<void> {
    if (this.#isDelivering) return
    this.#isDelivering = true
    const { log, sessions, parked, alarms } = this.#parts
    try {
      for (let batch = 0; batch < batchesPerTurn; batch++) {
        const row = log.undelivered
        if (!row) return
        const addresses = sessions.of(row.topics, row.deliveredTo, sessionsPerBatch)
        const waiting = parked.among(addresses)
        await Promise.all(addresses.map((address) => waiting.has(address) || this.#deliverOrPark(address, row)))
        log.markDelivered(row.seq, addresses.length < sessionsPerBatch ? null : (addresses.at(-1) ?? null))
      }
      await alarms.add(Date.now())
    } finally {
      this.#isDelivering = false
    }
  }

  async #deliverOrPark(address: string, change: LoggedChange): Promise<void> {
    try {
      await this.#deliver(address, change)
    } catch (problem) {
      const { host, parked } = this.#parts
      host.report(problem)
      parked.add(address, change.seq, Date.now())
      this.#scheduleCatchUp()
    }
  }

  /** @returns false if the session has ended. @throws the error of the call */
  #deliver(address: string, { seq, change }: LoggedChange): Promise<boolean> {
    const { host, sessions, id } = this.#parts
    // A session that is only slow receives the change once.
    const deliver = (session: SessionRpc) => session.changed(JSON.parse(change), undefined, undefined, `${id} ${seq}`)
    return sessions.call(address, () => callSession(host, address, deliver))
  }

  /** Notifies a session that everything may have changed. */
  #deliverAll(address: string): Promise<boolean> {
    const { host, sessions } = this.#parts
    const uris = sessions.resourcesOf(address)
    return sessions.call(address, () => callSession(host, address, (session) => session.missed(uris)))
  }

  #scheduleCatchUp(): void {
    const { parked, alarms } = this.#parts
    const { due } = parked
    if (due !== undefined) void alarms.add(due)
  }

  /** Delivers missed changes to the parked sessions that are due. The alarm that calls it does not wait for them. */
  catchUp(): void {
    const { parked, waitUntil } = this.#parts
    for (const session of parked.take(Date.now(), sessionsPerBatch)) waitUntil(this.#catchUp(session))
    this.#scheduleCatchUp()
  }

  async #catchUp({ session, seq, since }: ParkedSession): Promise<void> {
    if (this.#catchingUp.has(session)) return
    this.#catchingUp.add(session)
    const { log, sessions, parked } = this.#parts
    try {
      let position = seq - 1
      const advance = (isThere: boolean, to: number) => {
        position = to
        if (isThere) parked.advance(session, to + 1)
        else parked.remove(session)
        return isThere
      }
      for (;;) {
        const { last } = log
        const missed = log.after(position)?.filter(({ topics }) => sessions.receives(session, topics))
        // In the turn that has read the log: what comes next is delivered as to the other sessions.
        if (missed?.length === 0) return parked.remove(session)
        // Some of them were deleted.
        if (!missed && !advance(await this.#deliverAll(session), last)) return
        for (const change of missed ?? []) if (!advance(await this.#deliver(session, change), change.seq)) return
      }
    } catch {
      // Reported when it was parked.
      if (Date.now() - since < maxParkedMs) return
      sessions.removeAll(session)
      parked.remove(session)
    } finally {
      this.#catchingUp.delete(session)
    }
  }
}

/** Formats a logged change as the message of a socket. */
export const changeMessage = (seq: number, change: string): string => relayMessage(change, String(seq))
