/** Looks at what the Subscriptions objects hold: never more than there is a reason for, and nothing in the end. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Book } from './book.ts'
import type { Holding } from './holding.ts'
import { type ListeningServer, shards } from './server.ts'
import { ttl } from './ttl.ts'

/** Milliseconds that changes are kept, and that an alarm may be late. */
const [keptFor, late] = [5 * 60_000, 60_000]
/** Milliseconds until the server has noticed that the reader of a stream has gone. */
const noticing = 10_000

export class Watch {
  readonly most = { sockets: 0, sessions: 0, changes: 0 }
  readonly #server: ListeningServer
  readonly #book: Book
  /** Until when those that have gone may have left something. */
  #streams: number[] = []
  #sessions: number[] = []

  constructor(server: ListeningServer, book: Book) {
    this.#server = server
    this.#book = book
  }

  streamLeft(): void {
    this.#streams.push(Date.now() + noticing)
  }

  /** @param isEnded the client has said so; otherwise it is over when it has been idle for too long */
  sessionLeft(isEnded: boolean): void {
    this.#sessions.push(Date.now() + (isEnded ? late : ttl + late))
  }

  /** @param clients how many there may be of each at the time */
  async look(clients: { streams: number; sessions: number }): Promise<void> {
    const all = await this.#server.holdings()
    const now = Date.now()
    this.#streams = this.#streams.filter((time) => time > now)
    this.#sessions = this.#sessions.filter((time) => time > now)
    const { sockets, sessions, changes } = totalOf(all)
    const mostSockets = clients.streams + this.#streams.length
    const mostSessions = clients.sessions + this.#sessions.length
    if (sockets > mostSockets) this.#book.problem(`${sockets} sockets instead of ${mostSockets}`)
    if (sessions > mostSessions) this.#book.problem(`${sessions} sessions instead of ${mostSessions}`)
    for (const { oldest } of all) {
      if (oldest > keptFor + late) this.#book.problem(`A change is kept for ${Math.round(oldest / 1000)} s`)
    }
    this.most.sockets = Math.max(this.most.sockets, sockets)
    this.most.sessions = Math.max(this.most.sessions, sessions)
    this.most.changes = Math.max(this.most.changes, changes)
  }

  /** All have gone. Resolves to what is left, once it is no less or nothing. */
  async rest(): Promise<string> {
    const deadline = Date.now() + ttl + late
    let all: Holding[] = []
    do {
      await sleep(500)
      all = await this.#server.holdings()
    } while (Date.now() < deadline && all.some(({ sockets, sessions }) => sockets + sessions.length > 0))
    for (const [shard, { sockets, sessions, changes, alarm }] of all.entries()) {
      if (sockets > 0) this.#book.problem(`${shards[shard]} holds ${sockets} sockets`)
      if (sessions.length > 0) this.#book.problem(`${shards[shard]} holds ${sessions.length} sessions`)
      if (changes > 1 && alarm === null)
        this.#book.problem(`${shards[shard]} has no alarm to forget ${changes} changes`)
    }
    // As if everybody had waited for five minutes.
    await this.#server.holdings({ isOlder: true })
    await sleep(1_000)
    all = await this.#server.holdings()
    for (const [shard, { changes }] of all.entries()) {
      if (changes > 1) this.#book.problem(`${shards[shard]} keeps ${changes} changes that are too old`)
    }
    const { sockets, sessions, changes } = totalOf(all)
    return `${sockets}, ${sessions} and ${changes}`
  }
}

const totalOf = (all: readonly Holding[]) => ({
  sockets: all.reduce((sum, holding) => sum + holding.sockets, 0),
  sessions: all.reduce((sum, holding) => sum + holding.sessions.length, 0),
  changes: all.reduce((sum, holding) => sum + holding.changes, 0),
})
