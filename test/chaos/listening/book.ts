/** What was announced, who was to hear of it, and who did. */
import { setTimeout as sleep } from 'node:timers/promises'

/** Milliseconds in which the same change is told only once more. */
const coalescedFor = 100
/** Milliseconds for what is on its way, once everybody has heard enough. */
const settling = 400
/** Milliseconds for which somebody is new to a topic. */
const newcomer = 10_000
/** Problems that are told one by one. */
const mostProblems = 20

/** Somebody who hears of changes. */
export type Hearer = {
  readonly kind: 'listener' | 'session'
  readonly name: string
  /** It has subscribed to this, and must hear of it. */
  expects(topic: string): boolean
  /** It has subscribed to this, or had when something began. */
  canSubscribe(topic: string, began: number): boolean
  /** Milliseconds: when it began to expect this. */
  since(topic: string): number
}

/** Whoever is told what hearers hear. */
export type Audience = {
  readonly hearers: Set<Hearer>
  hear(hearer: Hearer, topic: string): void
  problem(text: string): void
}

/**
 * Milliseconds after an announcement, or a loss, until it must have been heard. The Worker dials an object again for six
 * seconds; sessions that could not be told are told by an alarm after ten, and their clients are away for four.
 */
const patience: Record<Hearer['kind'], number> = { listener: 10_000, session: 30_000 }
/** Milliseconds before a burst within which a loss may still lead to hearing something twice. */
const excuses: Record<Hearer['kind'], number> = { listener: 3_000, session: 15_000 }

/** The same change, announced some times in a row. */
export type Burst = {
  readonly topic: string
  readonly began: number
  /** When the last announcement was taken. */
  ended: number | undefined
  attempts: number
  /** Announcements that are promised to be heard. */
  taken: number
  readonly expected: readonly Hearer[]
  readonly heard: Map<Hearer, number>
  isSettled: boolean
}

export class Book implements Audience {
  readonly hearers = new Set<Hearer>()
  readonly problems: string[] = []
  problemCount = 0
  bursts = 0
  announced = 0
  heard = 0
  /** What was heard as often as was due, by each who was to hear it. */
  fulfilled = 0
  slowest = 0
  readonly repeated = { listener: 0, session: 0 }
  /** When an object or everything was last lost. */
  lastLoss = 0
  readonly #latest = new Map<string, Burst>()

  problem(text: string): void {
    this.problemCount += 1
    if (this.problems.length < mostProblems) this.problems.push(`${new Date().toISOString().slice(11, 23)} ${text}`)
  }

  begin(topic: string): Burst {
    const expected = [...this.hearers].filter((hearer) => hearer.expects(topic))
    const began = Date.now()
    const heard = new Map<Hearer, number>()
    const burst = { topic, began, ended: undefined, attempts: 0, taken: 0, expected, heard, isSettled: false }
    this.#latest.set(topic, burst)
    this.bursts += 1
    return burst
  }

  hear(hearer: Hearer, topic: string): void {
    this.heard += 1
    const burst = this.#latest.get(topic)
    if (!burst) return this.problem(`${hearer.name} heard of ${topic}, which nobody had announced`)
    if (!hearer.canSubscribe(topic, burst.began))
      this.problem(`${hearer.name} heard of ${topic}, and had not subscribed to it`)
    const times = (burst.heard.get(hearer) ?? 0) + 1
    burst.heard.set(hearer, times)
    // What was announced a moment before it subscribed may come as late as what was announced afterwards.
    if (times <= mostOf(burst) || hearer.since(topic) > burst.began - newcomer) return
    if (this.lastLoss > burst.began - excuses[hearer.kind]) this.repeated[hearer.kind] += 1
    else this.problem(`${hearer.name} heard ${times} times of ${burst.attempts} announcements of ${topic}`)
  }

  /** Resolves when everybody has heard what was announced, or has gone, or has waited too long. */
  async settle(burst: Burst): Promise<void> {
    const ended = Date.now()
    burst.ended = ended
    this.announced += burst.attempts
    const missed = new Set<Hearer>()
    for (;;) {
      const waiting = burst.expected.filter((hearer) => !missed.has(hearer) && isOwed(burst, hearer))
      if (waiting.length === 0) break
      for (const hearer of waiting) {
        if (Date.now() - Math.max(ended, this.lastLoss) < patience[hearer.kind]) continue
        missed.add(hearer)
        const times = burst.heard.get(hearer) ?? 0
        const loss = `the last loss ${this.lastLoss - burst.began} ms after its beginning`
        this.problem(`${hearer.name} heard ${times} times of ${burst.attempts} × ${burst.topic}, ${loss}`)
      }
      await sleep(20)
    }
    this.slowest = Math.max(this.slowest, Date.now() - ended)
    this.fulfilled += burst.expected.filter((hearer) => (burst.heard.get(hearer) ?? 0) >= leastOf(burst)).length
    burst.isSettled = true
    await sleep(settling)
  }

  /** Resolves when somebody has heard all that has been announced so far, or is known to have missed it. */
  async heardAll(hearer: Hearer): Promise<void> {
    const open = [...this.#latest.values()].filter((burst) => !burst.isSettled && burst.expected.includes(hearer))
    while (open.some((burst) => !burst.isSettled && (burst.ended === undefined || isOwed(burst, hearer))))
      await sleep(20)
  }
}

/** The first announcement is heard at once; those after it, together, a moment later. */
const leastOf = ({ taken }: Burst) => Math.min(taken, 2)

const isOwed = (burst: Burst, hearer: Hearer) =>
  hearer.expects(burst.topic) && (burst.heard.get(hearer) ?? 0) < leastOf(burst)

/** How often a burst can be heard when nothing is lost. */
function mostOf({ attempts, began, ended = Date.now() }: Burst): number {
  return Math.min(attempts, 2 + Math.floor((ended - began) / coalescedFor))
}
