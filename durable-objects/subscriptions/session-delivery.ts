/**
 * Delivers changes to sessions. Each session has a queue of its own, so that none waits for another. A change counts as delivered once each
 * of its sessions has received it, has ended, or is parked. Until then it is stored as undelivered, and another instance continues.
 */

import { waitAtMost } from '../../worker/engine/wait.ts'
import type { SessionRpc } from '../session/rpc.ts'
import type { Alarms } from '../shared/alarms.ts'
import { type ChangeLog, type LoggedChange, retentionMs } from './change-log.ts'
import type { ParkedSession, ParkedSessions } from './parked-sessions.ts'
import type { SessionSubscriptions } from './session-subscriptions.ts'
import type { SubscriptionsHost } from './subscriptions-host.ts'

/** Sessions that are called at the same time, and that are found in one turn: an event may call 1,000 times, and a call may be repeated. */
const sessionsPerTurn = 500
/** Sessions that are read at the same time. */
const sessionsPerPage = 100
/** Milliseconds after which a session that answers is parked, if others wait for their turn. */
const slowAnswerMs = 1_000
/** Changes that are delivered to one session at the same time. */
const changesPerBatch = 32
/** Changes that may wait for one session in memory. The log has those after them. */
const changesPerQueue = 256
/** Changes that are read in one turn for a parked session. */
const changesPerPage = 256
/** Milliseconds after which a session that cannot be called is removed: its id has expired. */
const maxParkedMs = 7 * 24 * 60 * 60_000

/**
 * A change on its way. `deliveredTo`: the last session into whose queue it was put. `open`: the number of sessions that have not received it,
 * and one more while it is still put into queues.
 */
type Delivery = LoggedChange & { open: number }

export type SessionDeliveryParts = {
  readonly host: SubscriptionsHost
  readonly log: ChangeLog
  readonly sessions: SessionSubscriptions
  readonly parked: ParkedSessions
  /** Names the object, so that the names of its deliveries are unique. */
  readonly id: string
  readonly alarms: Alarms
  waitUntil(work: Promise<unknown>): void
}

export class SessionDelivery {
  readonly #parts: SessionDeliveryParts
  /** The sessions that are being called, with the changes that they have not received. */
  readonly #queues = new Map<string, Delivery[]>()
  /** Parked sessions whose queue has the first changes that they have not received. */
  readonly #overtaken = new Set<string>()
  /** The change that is being put into queues. */
  #current: Delivery | undefined
  /** The number of the change before it. */
  #previous = 0
  /** Sessions that may still be found in this turn. */
  #left = 0
  /** Parked sessions that are being called. */
  readonly #catchingUp = new Set<string>()
  /** Parked sessions that may have been notified that everything changed: up to which change. */
  readonly #gaps = new Map<string, number>()
  /** Resolves when the log may be read for the next parked session. */
  #turn = Promise.resolve()

  constructor(parts: SessionDeliveryParts) {
    this.#parts = parts
  }

  /** Delivers the changes that sessions have not received. Resolves when they are in the queues. */
  async start(): Promise<void> {
    this.#left = sessionsPerTurn
    // What is undelivered although no session is being called could not be stored as delivered.
    if (this.#queues.size === 0 && !this.#current) this.#previous = 0
    this.#fillQueues()
  }

  #fillQueues(): void {
    const { log, sessions, parked, alarms } = this.#parts
    for (;;) {
      const undelivered = this.#current ? undefined : log.undeliveredAfter(this.#previous)
      if (undelivered) this.#current = { ...undelivered, open: 1 }
      const change = this.#current
      if (!change) return
      if (this.#left === 0) return void alarms.add(Date.now())
      const limit = Math.min(sessionsPerPage, this.#left, sessionsPerTurn - this.#queues.size)
      // The next session that has received its changes continues.
      if (limit === 0) return
      const addresses = sessions.of(change.topics, change.deliveredTo, limit)
      this.#left -= addresses.length || 1
      const [waiting, now] = [parked.among(addresses), Date.now()]
      // Found too late: the log is about to delete it, and grows no further while changes come faster than their sessions are found.
      const isOld = change.at !== null && change.at < now - retentionMs
      const isMissed = (address: string) => !waiting.has(address) && (isOld || !this.#enqueue(address, change))
      const missed = addresses.filter(isMissed)
      for (const address of missed) {
        const queue = this.#queues.get(address)
        if (queue) this.#overtaken.add(address)
        parked.add(address, queue?.[0]?.seq ?? change.seq, now)
      }
      if (missed.length > 0) this.#scheduleCatchUp()
      change.deliveredTo = addresses.at(-1) ?? ''
      if (addresses.length === limit) continue
      this.#previous = change.seq
      this.#current = undefined
      this.#complete(change)
    }
  }

  /** Puts a change into the queue of a session. Returns false if it is full. */
  #enqueue(address: string, change: Delivery): boolean {
    const queue = this.#queues.get(address) ?? []
    if (queue.length === changesPerQueue) return false
    change.open += 1
    if (queue.push(change) === 1) {
      this.#queues.set(address, queue)
      this.#parts.waitUntil(this.#empty(address, queue))
    }
    return true
  }

  /** Delivers the changes of a queue, also those that are added meanwhile, or parks the session. */
  async #empty(address: string, queue: Delivery[]): Promise<void> {
    const { host, parked } = this.#parts
    /** The first change that a parked session has not received. */
    let next: number | undefined
    try {
      while (queue.length > 0 && next === undefined) {
        const batch = queue.slice(0, changesPerBatch)
        const calledAt = Date.now()
        const isThere = await this.#deliver(address, batch)
        for (const change of queue.splice(0, isThere ? batch.length : queue.length)) this.#complete(change)
        if (this.#overtaken.has(address)) parked.advance(address, lastSeq(batch) + 1)
        const isSlow = Date.now() - calledAt > slowAnswerMs
        if (isThere && isSlow && this.#isFull) next = lastSeq(batch) + 1
      }
    } catch (problem) {
      host.report(problem)
      next = queue[0]?.seq
    }
    this.#queues.delete(address)
    this.#overtaken.delete(address)
    if (next !== undefined) {
      parked.add(address, next, Date.now())
      for (const change of queue) this.#complete(change)
      this.#scheduleCatchUp()
    }
    this.#fillQueues()
  }

  /** Whether sessions wait for others that are being called. */
  get #isFull(): boolean {
    return this.#current !== undefined && this.#queues.size >= sessionsPerTurn
  }

  /** Called when a session has received a change, and when it was put into the last queue. */
  #complete(change: Delivery): void {
    change.open -= 1
    if (change.open === 0) this.#parts.log.markDelivered(change.seq, null)
    // Another instance continues here.
    else if (change.open === 1 && change === this.#current)
      this.#parts.log.markDelivered(change.seq, change.deliveredTo)
  }

  /**
   * Delivers changes to a session in their order, because they are called on one stub.
   *
   * @returns false if the session has ended. @throws the error of a call
   */
  #deliver(address: string, changes: readonly LoggedChange[]): Promise<boolean> {
    const { id } = this.#parts
    return this.#call(address, async (session) => {
      // A session that is only slow receives each change once.
      const calls = changes.map(({ seq, change }) =>
        session.changed(JSON.parse(change), undefined, undefined, `${id} ${seq}`),
      )
      return (await Promise.all(calls)).every((isThere) => isThere)
    })
  }

  /** Notifies a session that everything may have changed. @param to the last of the changes */
  #deliverAll(address: string, to: number): Promise<boolean> {
    const { sessions, id } = this.#parts
    const uris = sessions.resourcesOf(address)
    return this.#call(address, (session) => session.missed(uris, `${id} to ${to}`))
  }

  #call(address: string, call: (session: SessionRpc) => Promise<boolean>): Promise<boolean> {
    const { host, sessions } = this.#parts
    return sessions.call(address, () => callSession(host, address, call))
  }

  #scheduleCatchUp(): void {
    const { parked, alarms } = this.#parts
    const { due } = parked
    if (due !== undefined) void alarms.add(due)
  }

  /** Delivers missed changes to the parked sessions that are due. The alarm that calls it does not wait for them. */
  catchUp(): void {
    const { parked, waitUntil } = this.#parts
    for (const session of parked.take(Date.now(), sessionsPerPage)) waitUntil(this.#catchUp(session))
    this.#scheduleCatchUp()
  }

  /** Waits for the sessions before, and until other events have run: reading the log for many sessions takes long. */
  #nextTurn(): Promise<void> {
    this.#turn = this.#turn.then(() => new Promise((resolve) => setTimeout(resolve)))
    return this.#turn
  }

  async #catchUp({ session, seq, since }: ParkedSession): Promise<void> {
    // A queue is emptied first.
    if (this.#catchingUp.has(session) || this.#queues.has(session)) return
    this.#catchingUp.add(session)
    const { log, sessions, parked } = this.#parts
    const remove = () => {
      this.#gaps.delete(session)
      parked.remove(session)
    }
    try {
      for (let next = seq; ; ) {
        await this.#nextTurn()
        const page = log.after(next - 1, changesPerPage)
        if (!page) {
          // Some of them were deleted. A session that is only slow is notified once.
          const to = this.#gaps.get(session) ?? log.last
          this.#gaps.set(session, to)
          if (!(await this.#deliverAll(session, to))) return remove()
          this.#gaps.delete(session)
          next = to + 1
          parked.advance(session, next)
          continue
        }
        const isWanted = sessions.filterOf(session)
        const missed = page.filter(({ topics }) => isWanted(topics))
        // In the turn that has read the log: what comes next is delivered as to the other sessions.
        if (missed.length === 0 && page.length < changesPerPage) return remove()
        for (let at = 0; at < missed.length; at += changesPerBatch) {
          const batch = missed.slice(at, at + changesPerBatch)
          if (!(await this.#deliver(session, batch))) return remove()
          parked.advance(session, lastSeq(batch) + 1)
        }
        next = lastSeq(page) + 1
      }
    } catch {
      // Reported when it was parked.
      if (Date.now() - since < maxParkedMs) return
      sessions.removeAll(session)
      remove()
    } finally {
      this.#catchingUp.delete(session)
    }
  }
}

const lastSeq = (changes: readonly LoggedChange[]): number => changes.at(-1)?.seq ?? 0

/** Calls to a session whose object is lost, and milliseconds to wait for an answer. */
const [maxAttempts, answerTimeoutMs] = [2, 5_000]

/**
 * Calls a session. A call that fails is repeated once, because an object that was lost is available again at once. One without an answer is
 * not, so that the session delays no other.
 *
 * @returns false if the session has ended
 * @throws the error of the last call
 */
async function callSession(
  { session }: Pick<SubscriptionsHost, 'session'>,
  address: string,
  call: (session: SessionRpc) => Promise<boolean>,
): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    try {
      const isThere = await waitAtMost(answerTimeoutMs, call(session(address)))
      if (isThere !== undefined) return isThere
    } catch (problem) {
      if (attempt === maxAttempts) throw problem
      await new Promise((resolve) => setTimeout(resolve, 50))
      continue
    }
    throw new Error(`The session ${address} did not answer a change notification`)
  }
}
