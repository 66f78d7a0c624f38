/**
 * Clients come, listen, subscribe, go and return, while things change and while objects and the whole server are lost:
 * everybody hears of what it listens to, of nothing else, and nothing is left when all have gone.
 *
 * Thirty minutes, or as many as the environment variable `MINUTES` says. The server is killed in the first part only, so
 * that the rest of its life tells how its memory grows.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Chance, chance } from '../support/random.ts'
import { inTime } from './in-time.ts'
import { Book } from './listening/book.ts'
import { type Filter, Listener } from './listening/listener.ts'
import { type Sample, sample, slopeOf } from './listening/memory.ts'
import { ListeningServer, shards } from './listening/server.ts'
import { SessionExpired, Subscriber } from './listening/subscriber.ts'
import { Watch } from './listening/watch.ts'

const [listeners, sessions, announcers] = [24, 12, 4]
const lists = ['tools', 'prompts', 'resources']
const pages = Array.from({ length: 12 }, (_, id) => `page://${id}`)
/** Of this nobody hears anything. */
const quiet = 'page://quiet'
/** Milliseconds until whatever goes on must come to its end. */
const patience = 150_000
/** The part of the time in which the server is killed. */
const stormy = 0.4
/** Megabytes a minute, measured for at least so many minutes: without need the runtime gives little back. */
const [mostGrowth, leastMeasured] = [8, 5]

export async function updates({ seed = 1, minutes = Number(process.env.MINUTES ?? 30) } = {}): Promise<string> {
  await using server = await ListeningServer.start()
  const soak = new Soak(server, chance(seed))
  await soak.run(minutes * 60_000)
  const { book } = soak
  const line = `${minutes} minutes with seed ${seed}: ${soak.figures().join('; ')}`
  if (book.problemCount > 0) throw new Error(`${line}; ${book.problemCount} problems:\n${book.problems.join('\n')}`)
  return line
}

class Soak {
  readonly book = new Book()
  readonly #server: ListeningServer
  readonly #random: Chance
  /** Nothing happens any more. */
  #isQuiet = false
  /** Clients are to go. */
  #isOver = false
  #kills = 0
  readonly #lost = { McpSubscriptions: 0, McpSession: 0 }
  readonly #evicted = { McpSubscriptions: 0, McpSession: 0, not: 0 }
  #streams = 0
  #dismissed = 0
  #sessions = 0
  #returns = 0
  #expired = 0
  #fresh = 0
  readonly #busy = new Set<string>()
  readonly #listening = new Set<Listener>()
  readonly #alive = new Set<Subscriber>()
  readonly #watch: Watch
  readonly #samples: Sample[] = []
  #left = ''

  constructor(server: ListeningServer, random: Chance) {
    this.#server = server
    this.#random = random
    this.#watch = new Watch(server, this.book)
  }

  async run(time: number): Promise<void> {
    const began = Date.now()
    const calm = began + stormy * time
    const many = (count: number, work: () => Promise<void>) => Array.from({ length: count }, work)
    const clients = [...many(listeners, () => this.#listen()), ...many(sessions, () => this.#converse()), this.#look()]
    const happenings = [...many(announcers, () => this.#announce()), this.#lose()]
    // What fails is a problem of its own; nothing else stops because of it.
    for (const work of [...clients, ...happenings]) {
      work.catch((problem) => this.book.problem(String(problem?.stack ?? problem)))
    }
    while (Date.now() < calm) {
      await sleep(Math.max(Math.min(this.#random.between(10_000, 30_000), calm - Date.now()), 0))
      await this.#restart()
    }
    const remaining = () => Math.max(began + time - Date.now(), 0)
    await sleep(remaining() / 3)
    while (remaining() > 0) {
      this.#samples.push(sample())
      await sleep(Math.min(5_000, remaining()))
    }
    this.#isQuiet = true
    await this.#end(happenings)
    this.#isOver = true
    await this.#end(clients)
    // Sessions that are over, but could not say so, are forgotten when they are to be told.
    for (const topic of [...lists, ...pages]) await this.#server.announce(topic)
    this.#left = await this.#watch.rest()
    this.#judgeMemory()
  }

  async #end(works: Promise<void>[]): Promise<void> {
    const ends = inTime(Promise.allSettled(works), patience, 'What had begun')
    await ends.catch((problem) => this.book.problem(String(problem)))
  }

  figures(): string[] {
    const { book } = this
    const { listener, session } = book.repeated
    const { sockets, sessions, changes } = this.#watch.most
    const [first, last] = [this.#samples[0], this.#samples.at(-1)] as [Sample, Sample]
    return [
      `${this.#streams} listen streams and ${this.#sessions} sessions, which returned ${this.#returns} times (${this.#expired} too late)`,
      `${this.#kills} kills; ${this.#lost.McpSubscriptions} Subscriptions objects and ${this.#lost.McpSession} sessions were lost, ` +
        `${this.#evicted.McpSubscriptions} and ${this.#evicted.McpSession} were evicted (${this.#evicted.not} were not)`,
      `${book.announced} announcements in ${book.bursts} bursts, ${book.heard} times heard, ${book.fulfilled} times as was due, ` +
        `the last after ${(book.slowest / 1000).toFixed(1)} s`,
      `${listener + session} repeated (${listener} on listen streams, ${session} in sessions), all after a loss`,
      `${this.#dismissed} streams were ended after five silent minutes`,
      `in ${this.#measured.toFixed(1)} calm minutes memory went from ${Math.round(first.megabytes)} to ` +
        `${Math.round(last.megabytes)} MB${this.#isMeasured ? `, ${slopeOf(this.#samples).toFixed(2)} MB a minute` : ''}, and ` +
        `descriptors from ${first.descriptors} to ${last.descriptors}`,
      `at most ${sockets} sockets, ${sessions} subscribed sessions and ${changes} changes were held, in the end ${this.#left}`,
    ]
  }

  // What clients do

  async #listen(): Promise<void> {
    const { between, often } = this.#random
    while (!this.#isOver) {
      await this.#server.up
      const filter = this.#filter()
      let listener: Listener
      const { lastLoss } = this.book
      try {
        listener = await Listener.open(this.#server.url, filter, this.book)
      } catch (problem) {
        // Whoever dials an object that is being lost may be told so.
        if (this.book.lastLoss === lastLoss && Date.now() - lastLoss > 10_000) this.book.problem(String(problem))
        await sleep(100)
        continue
      }
      this.#streams += 1
      this.#listening.add(listener)
      const stay = often(0.2) ? Number.POSITIVE_INFINITY : between(2_000, 60_000)
      await Promise.race([listener.over, this.#wait(stay)])
      if (often(0.7)) await this.book.heardAll(listener)
      if (listener.isDismissed) this.#dismissed += 1
      this.#watch.streamLeft()
      this.#listening.delete(listener)
      listener.leave()
      await this.#wait(between(0, 2_000))
    }
  }

  #filter(): Filter {
    const { often, some, one } = this.#random
    const uris = new Set(some(0, 4, () => one(pages)))
    if (often(0.3)) uris.add('note://{id}')
    if (often(0.2)) uris.add(quiet)
    return {
      ...(often(0.3) && { toolsListChanged: true }),
      ...(often(0.3) && { promptsListChanged: true }),
      ...(often(0.3) && { resourcesListChanged: true }),
      ...(uris.size > 0 && { resourceSubscriptions: [...uris] }),
    }
  }

  async #converse(): Promise<void> {
    while (!this.#isOver) {
      try {
        await this.#server.up
        await this.#visit()
      } catch (problem) {
        if (problem instanceof SessionExpired) {
          this.#expired += 1
          continue
        }
        const isLost = /ECONNRE|socket hang up/.test(String(problem))
        if (!isLost || Date.now() - this.book.lastLoss > 10_000) this.book.problem(String(problem))
        await sleep(100)
      }
    }
  }

  /** One session, from its beginning to its end. */
  async #visit(): Promise<void> {
    const { between, often, one } = this.#random
    const subscriber = await Subscriber.arrive(this.#server.url, this.book, () => this.#server.up)
    this.#sessions += 1
    this.#alive.add(subscriber)
    let isEnded = false
    try {
      await subscriber.return()
      const until = Date.now() + between(5_000, 90_000)
      while (Date.now() < until && !this.#isOver) {
        if (subscriber.isAway) {
          await subscriber.return()
          this.#returns += 1
        }
        const { subscriptions } = subscriber
        if (subscriptions.length < 4 && often(0.5)) await subscriber.subscribe(one(pages))
        else if (subscriptions.length > 0 && often(0.3)) await this.#unsubscribe(subscriber, one(subscriptions))
        else if (often(0.3)) {
          subscriber.away()
          await this.#wait(between(0, 4_000))
          continue
        }
        await this.#wait(between(100, 3_000))
      }
      if (subscriber.isAway) await subscriber.return()
      if (often(0.7)) await this.book.heardAll(subscriber)
      isEnded = often(0.5)
      if (isEnded) await subscriber.end()
    } finally {
      subscriber.abandon()
      this.#alive.delete(subscriber)
      this.#watch.sessionLeft(isEnded)
    }
  }

  async #unsubscribe(subscriber: Subscriber, uri: string): Promise<void> {
    if (this.#random.often(0.7)) await this.book.heardAll(subscriber)
    await subscriber.unsubscribe(uri)
  }

  // What happens

  async #announce(): Promise<void> {
    const { between, often, one, some } = this.#random
    while (!this.#isQuiet) {
      await this.#wait(between(50, 800))
      await this.#server.up
      this.#fresh += 1
      const topic = often(0.2) ? `note://${this.#fresh}` : often(0.2) ? one(lists) : one(pages)
      if (this.#busy.has(topic)) continue
      this.#busy.add(topic)
      const burst = this.book.begin(topic)
      const gaps = often(0.5) ? [0] : some(2, 6, () => (often(0.5) ? 0 : between(0, 30)))
      const isAtOnce = often(0.5)
      const taken: Promise<void>[] = []
      for (const gap of gaps) {
        const announced = this.#server
          .announce(topic, () => {
            burst.attempts += 1
          })
          .then(() => {
            burst.taken += 1
          })
        taken.push(announced)
        if (isAtOnce) await sleep(gap)
        else await announced
      }
      await Promise.all(taken)
      await this.book.settle(burst)
      this.#busy.delete(topic)
    }
  }

  /** Objects are lost, or evicted while their sockets sleep. */
  async #lose(): Promise<void> {
    const { between, often, one } = this.#random
    while (!this.#isQuiet) {
      // Sometimes several in a row, sometimes nothing for a while.
      await this.#wait(often(0.5) ? between(0, 1_000) : between(2_000, 12_000))
      await this.#server.up
      const kind = often(0.6) ? 'McpSubscriptions' : 'McpSession'
      const names =
        kind === 'McpSubscriptions' ? shards : (await this.#server.holdings()).flatMap(({ sessions }) => sessions)
      if (names.length === 0) continue
      const name = one(names)
      if (often(0.5)) {
        this.book.lastLoss = Date.now()
        const status = await this.#server.lose(kind, name)
        this.book.lastLoss = Date.now()
        if (status === 204) this.#lost[kind] += 1
        else if (status) this.book.problem(`${kind} ${name} cannot be lost: ${status}`)
      } else {
        const status = await this.#server.evict(kind, name)
        this.#evicted[status === 204 ? kind : 'not'] += 1
      }
    }
  }

  async #restart(): Promise<void> {
    this.book.lastLoss = Date.now()
    for (const listener of this.#listening) listener.cut()
    for (const subscriber of this.#alive) subscriber.cut()
    await this.#server.restart()
    this.#kills += 1
    this.book.lastLoss = Date.now()
  }

  // What is held

  async #look(): Promise<void> {
    while (!this.#isOver) {
      await this.#wait(10_000)
      await this.#server.up
      await this.#watch.look({ streams: listeners, sessions: this.#alive.size })
    }
  }

  /** Minutes. */
  get #measured(): number {
    return (this.#samples.at(-1) as Sample).at - (this.#samples[0] as Sample).at
  }

  /** A runtime that has just started takes more and more for a while. */
  get #isMeasured(): boolean {
    return this.#measured >= leastMeasured
  }

  #judgeMemory(): void {
    const slope = slopeOf(this.#samples)
    if (this.#isMeasured && slope > mostGrowth) this.book.problem(`Memory grows by ${slope.toFixed(2)} MB a minute`)
  }

  /** Resolves after so many milliseconds, or when it is over. */
  async #wait(milliseconds: number): Promise<void> {
    const until = Date.now() + milliseconds
    while (!this.#isOver && Date.now() < until) await sleep(Math.max(Math.min(100, until - Date.now()), 0))
  }
}
