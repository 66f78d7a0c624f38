/**
 * Measures change notifications for many subscribers: keeps streams of `subscriptions/listen` open to servers that run in
 * parallel, publishes with a tool, and counts the events of every subscriber. Servers take turns, so that the other load of the
 * machine is the same for all.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { Audience, type Publication } from './audience.ts'
import { Folder } from './folder.ts'
import type { Group } from './listening.ts'
import { type Process, startWorkerd } from './workerd.ts'

/** By round; times are milliseconds since the request to publish. */
export type Fanout = {
  readonly name: string
  /** The number of subscribers that get each publication. */
  readonly listeners: number
  readonly first: number[]
  readonly median: number[]
  readonly last: number[]
  /** Until the publisher had its response: every object has stored the change and notified its subscribers. */
  readonly answered: number[]
  /** Microseconds of CPU for one event. */
  readonly cpu: number[]
  /** Bytes by which the server grew for each open stream, without events. */
  readonly memory: number
}

export type Figures = {
  readonly sizes: readonly Fanout[]
  readonly others: readonly Fanout[]
  readonly slow: readonly Fanout[]
  readonly asleep: readonly Fanout[]
  /** Microseconds of CPU that keep one idle stream alive for one interval, by interval. */
  readonly keepAlive: readonly { interval: number; listeners: number; cpu: number[] }[]
}

/** The template of URIs that all subscribers of a stage subscribe to. */
const everybody = 'item://{id}'
/** Milliseconds, longer than any run. */
const never = 3_600_000
/** Approximate number of events in one turn of a server. */
const eventsInTurn = 10_000
/** Open files of a server without its connections, each of which needs two. */
const otherFiles = 200
/** Milliseconds until a server is idle after its streams were opened. */
const settling = 3000
/** Milliseconds after which an idle object was evicted. The runtime evicts it after ten seconds. */
const asleepAfter = 13_000

/** Ten thousand, or as many as the limit of open files allows. */
export function mostListeners(): number {
  const [, limit] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
  const most = Math.min(10_000, Math.floor((Number(limit) - otherFiles) / 200) * 100)
  if (most < 5_100) throw new Error(`Only ${limit} files may be open: raise the limit to 21,000, with ulimit -n`)
  return most
}

/** @throws Error when a subscriber does not get every change once, in order */
export async function measureFanout(rounds: number): Promise<Figures> {
  const most = mostListeners()
  return {
    sizes: await measureSizes(rounds, most),
    others: await measureOthers(rounds, most),
    slow: await measureSlow(rounds),
    asleep: await measureAsleep(most),
    keepAlive: [await measureKeepAlive(1000), await measureKeepAlive(most)],
  }
}

/** The cost of each number of subscribers, and of distributing them over four objects. */
async function measureSizes(rounds: number, most: number): Promise<Fanout[]> {
  using house = new House()
  const size = (listeners: number, shards = 1) =>
    house.stage(`${shards === 1 ? '1 object' : `${shards} objects`}`, [{ count: listeners, uris: [everybody] }], {
      shards,
    })
  const stages = [await size(1000), await size(5000), await size(most), await size(most, 4)]
  return await takeTurns(stages, rounds, (stage) => Math.max(1, Math.round(eventsInTurn / stage.hearing)))
}

/** Ten subscribers of a change among many others, compared with ten alone. */
async function measureOthers(rounds: number, most: number): Promise<Fanout[]> {
  using house = new House()
  const ten: Group = { count: 10, uris: [everybody] }
  const stages = [
    await house.stage('10 alone', [ten]),
    await house.stage(`10 of ${most}`, [ten, { count: most - 10, uris: ['other://#'] }]),
  ]
  return await takeTurns(stages, rounds, () => 100)
}

/** Characters of a URI that fills buffers, and the number of publications: more than all buffers together hold. */
const filling = { padding: 48_000, publications: 170 }

/** Nine hundred subscribers that read: alone, with a hundred others that read, and with a hundred that never read. */
async function measureSlow(rounds: number): Promise<Fanout[]> {
  using house = new House()
  const reading: Group = { count: 900, uris: [everybody] }
  // The hundred come first, so that they are notified first.
  const hundred: Group = { count: 100, uris: [everybody, 'fill://{id}'] }
  const alone = await house.stage('900 alone', [reading])
  const readers = await house.stage('900 after 100 that read', [hundred, reading])
  const stuck = await house.stage('900 after 100 that never read', [{ ...hundred, stuck: true }, reading])
  // Until their events wait in the event log.
  for (let publication = 0; publication < filling.publications; publication++) {
    await stuck.audience.publish('fill', 0, filling.padding)
  }
  await setTimeout(settling)
  stuck.hearing = 900
  const measured = await takeTurns([alone, readers, stuck], rounds * 4, () => 3)
  // They can read again, and have missed no change.
  await stuck.audience.read()
  await stuck.complete('fill', 100)
  await stuck.complete('item', 1000)
  return measured
}

/** The first publication after all objects were evicted. */
async function measureAsleep(most: number): Promise<Fanout[]> {
  using house = new House()
  const ten: Group = { count: 10, uris: [everybody] }
  const stages = [
    await house.stage('10 alone', [ten], { evicted: true }),
    await house.stage(`10 of ${most}`, [ten, { count: most - 10, uris: ['other://#'] }], { evicted: true }),
  ]
  const measured = stages.map(resultOf)
  for (let round = 0; round < 3; round++) {
    await setTimeout(asleepAfter)
    for (const [index, stage] of stages.entries()) await play(stage, 1, measured[index] as Fanout)
  }
  return measured
}

async function measureKeepAlive(listeners: number): Promise<Figures['keepAlive'][number]> {
  using house = new House()
  const interval = 15_000
  const { server } = await house.stage('', [{ count: listeners, uris: [everybody] }], { keepAlive: interval })
  const cpu: number[] = []
  for (let round = 0; round < 2; round++) {
    const before = server.cpu()
    await setTimeout(interval)
    cpu.push(((server.cpu() - before) * 1000) / listeners)
  }
  return { interval, listeners, cpu }
}

async function takeTurns(stages: readonly Stage[], rounds: number, publications: (stage: Stage) => number) {
  // Until the code is compiled.
  for (const stage of stages) await play(stage, publications(stage) * 2, resultOf(stage))
  const measured = stages.map(resultOf)
  for (let round = 0; round < rounds; round++) {
    // The order changes with each round.
    const order = [...stages.keys()].map((index) => (index + round) % stages.length)
    for (const index of order) {
      const stage = stages[index] as Stage
      await play(stage, publications(stage), measured[index] as Fanout)
    }
  }
  for (const stage of stages) await stage.complete('item', stage.hearing)
  return measured
}

/** One turn of a stage. */
async function play({ server, audience, hearing }: Stage, publications: number, into: Fanout): Promise<void> {
  const before = server.cpu()
  const played: Publication[] = []
  for (let count = 0; count < publications; count++) played.push(await audience.publish('item', hearing))
  into.cpu.push(((server.cpu() - before) * 1000) / (hearing * publications))
  const middle = (times: readonly number[]) => times[times.length >> 1] as number
  const typical = (pick: (times: readonly number[]) => number) =>
    middle(played.map(({ heard }) => pick(heard)).sort((a, b) => a - b))
  into.first.push(typical((times) => times[0] as number))
  into.median.push(typical(middle))
  into.last.push(typical((times) => times.at(-1) as number))
  into.answered.push(middle(played.map(({ answered }) => answered).sort((a, b) => a - b)))
}

const resultOf = ({ name, hearing, memory }: Stage): Fanout => {
  return { name, listeners: hearing, first: [], median: [], last: [], answered: [], cpu: [], memory }
}

/** A server with its subscribers. */
class Stage {
  /** The number of subscribers that get a publication at once. */
  hearing: number
  readonly name: string
  readonly server: Process
  readonly audience: Audience
  readonly memory: number

  constructor(name: string, server: Process, audience: Audience, hearing: number, memory: number) {
    this.name = name
    this.server = server
    this.audience = audience
    this.hearing = hearing
    this.memory = memory
  }

  /** Waits until this many subscribers have every change of a scheme. @throws Error when they do not get it */
  async complete(scheme: string, listeners: number): Promise<void> {
    for (let patience = 60; (await this.audience.complete(scheme)) !== listeners; patience--) {
      if (patience === 0) throw new Error(`${this.name}: not all ${listeners} have heard every ${scheme}`)
      await setTimeout(500)
    }
  }
}

type Options = { shards?: number; keepAlive?: number; evicted?: boolean }

/** Servers that run in parallel. Disposing of it stops them. */
class House implements Disposable {
  readonly #folder = new Folder()
  readonly #stages: { server: Process; audience: Audience }[] = []

  async stage(name: string, groups: readonly Group[], options: Options = {}): Promise<Stage> {
    const { shards = 1, keepAlive = never, evicted = false } = options
    const server = await startWorkerd(
      {
        entry: 'servers/subscriptions.ts',
        objects: ['McpSession', 'McpSubscriptions'],
        compatibilityFlags: ['enable_request_signal'],
        bindings: { SHARDS: `${shards}`, KEEP_ALIVE: `${keepAlive}` },
        evicted,
      },
      join(this.#folder.path, `${this.#stages.length}`),
    )
    const audience = new Audience(server.url)
    this.#stages.push({ server, audience })
    // The memory of the process without subscribers is not counted.
    for (let count = 0; count < 200; count++) await audience.publish('nobody', 0)
    const before = server.memory()
    for (const group of groups) await audience.open(group)
    await setTimeout(settling)
    const streams = groups.reduce((sum, { count }) => sum + count, 0)
    const hearing = groups.reduce((sum, { count, uris }) => sum + (uris.includes(everybody) ? count : 0), 0)
    return new Stage(name, server, audience, hearing, (server.memory() - before) / streams)
  }

  [Symbol.dispose](): void {
    for (const { server, audience } of this.#stages) {
      audience.leave()
      server.stop()
    }
    this.#folder[Symbol.dispose]()
  }
}
