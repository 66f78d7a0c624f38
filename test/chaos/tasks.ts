/** Evicts tasks, kills their server and deploys it anew while they run, and counts what each of their steps did: it, once. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { parseKeyRing, sealer, sealerFor } from '../../worker/sealing/seal.ts'
import { type ServerProcess, serverProcess } from '../support/process.ts'
import { type Chance, chance } from '../support/random.ts'
import { TaskClient, textOf } from '../tasks/client.ts'
import { inTime } from './in-time.ts'
import type { Falls } from './once.ts'
import type { Told } from './steps/told.ts'
import { type Blow, type Point, WatchedTask } from './watched-task.ts'

const versions = ['test/chaos/steps', 'test/chaos/steps/next'] as const
/** Of the server's wrangler.toml: task ids are opened with it. */
const ring = `test:${Buffer.alloc(32, 7).toString('base64url')}`
/** Milliseconds for all tasks of a round to get to the next loss, or to their end. */
const patience = 60_000
/** Milliseconds that tasks go on for at most before all of them are lost. */
const mostPause = 8

/** What befalls all tasks at once. */
type Shared = Exclude<Blow, 'eviction'>

type Options = { seed?: number; rounds?: number; each?: number; steps?: number; kills?: number; deploys?: number }

/** In each round some tasks of so many steps run at once; each has losses of its own, and shares these. */
export async function tasks(options: Options = {}): Promise<string> {
  const { seed = 1, rounds = 4, each = 25, steps = 200, kills = 4, deploys = 4 } = options
  const began = performance.now()
  const watched = new Map<string, WatchedTask>()
  const diary = createServer(async (request, response) => {
    // What was cut off on its way tells nothing.
    const told = (await json(request).catch(() => undefined)) as Told | undefined
    if (told) watched.get(told.id)?.hear(told, response)
  })
  diary.listen(0, '127.0.0.1')
  await once(diary, 'listening')
  const chaos = new Chaos(`http://127.0.0.1:${(diary.address() as AddressInfo).port}/`, steps, chance(seed), watched)
  await using server = await serverProcess(({ port, data }) => ['test/chaos/serve.ts', port, data, chaos.folder])
  await server.start()
  for (let round = 1; round <= rounds; round += 1) {
    const ids = Array.from({ length: each }, (_, index) => `${round}.${index}`)
    try {
      await chaos.round(server, ids, [...Array(kills).fill('kill'), ...Array(deploys).fill('deploy')])
    } catch (problem) {
      throw new Error(`Round ${round} with seed ${seed}: ${(problem as Error).message}`, { cause: problem })
    }
  }
  diary.closeAllConnections()
  diary.close()
  const time = ((performance.now() - began) / 1000).toFixed(0)
  return `${rounds * kills} kills, ${rounds * deploys} deploys; ${said([...watched.values()], steps)}; ${time} s`
}

class Chaos {
  readonly #diary: string
  readonly #steps: number
  readonly #random: Chance
  readonly #watched: Map<string, WatchedTask>
  readonly #seals = sealerFor(sealer(parseKeyRing(ring)), JSON.stringify(['steps', '/mcp']))
  #deploys = 0

  constructor(diary: string, steps: number, random: Chance, watched: Map<string, WatchedTask>) {
    this.#diary = diary
    this.#steps = steps
    this.#random = random
    this.#watched = watched
  }

  /** Of the server that was deployed last. */
  get folder(): string {
    return versions[this.#deploys % 2] as string
  }

  /** Of that server, as its effects tell it. */
  get #version(): string {
    return String(1 + (this.#deploys % 2))
  }

  /** Tasks that run at once, from their beginning to their end. */
  async round(server: ServerProcess, ids: readonly string[], all: readonly Shared[]): Promise<void> {
    const client = new TaskClient(server.url)
    const blows = this.#random.shuffled(all)
    const tasks = ids.map((id) => this.#watch(id, blows, server))
    const begun = await Promise.all(
      tasks.map(async (task) => {
        const taskId = await client.begin('steps', { id: task.id, steps: this.#steps, diary: this.#diary })
        task.begun.resolve(taskId)
        return { id: task.id, taskId }
      }),
    )
    for (const [at, blow] of blows.entries()) {
      await inTime(Promise.all(tasks.map((task) => task.arrived())), patience, `What comes before ${blow} ${at + 1}`)
      await this.#strike(blow, tasks, server)
      // Some clients come back at once, and some do not.
      await Promise.all(begun.map(({ taskId }) => this.#random.often(0.5) && client.get(taskId)))
      for (const task of tasks) task.recovered()
    }
    for (const { id, taskId } of begun) {
      const task = await inTime(client.until(taskId, 'completed'), patience, `Task ${id}`)
      assert.equal(textOf(task), `${this.#steps} steps`)
    }
  }

  #watch(id: string, blows: readonly Shared[], server: ServerProcess): WatchedTask {
    const random = chance(this.#random.below(2 ** 31))
    const evict = async ({ begun }: WatchedTask) => {
      const { name } = (await this.#seals.open('task', undefined, await begun.promise)) as { name: string }
      const answer = await fetch(new URL(`/lose?name=${name}`, server.url))
      assert.deepEqual(await answer.json(), { lost: true })
    }
    const task = new WatchedTask(id, this.#version, pointsOf(random, this.#steps, blows), random, evict)
    this.#watched.set(id, task)
    return task
  }

  async #strike(blow: Shared, tasks: readonly WatchedTask[], server: ServerProcess): Promise<void> {
    for (const task of tasks) task.goOn()
    await pause(this.#random.between(0, mostPause))
    if (blow === 'deploy') this.#deploys += 1
    for (const task of tasks) task.lose(blow, this.#version)
    if (blow === 'deploy') return server.tell(this.folder)
    await server.kill()
    await server.start()
  }
}

/** When a task is lost: in each part of its steps with all others, and before that, perhaps, alone. */
function pointsOf(random: Chance, steps: number, blows: readonly Shared[]): Point[] {
  const part = Math.floor((steps - 2) / (blows.length + 1))
  const half = Math.floor(part / 2)
  const where = () => random.one(['inside', 'between', 'anywhere'] as const)
  return [...blows, undefined].flatMap((by, at) => {
    const from = 1 + at * part
    const [alone, together] = [from + random.below(half), from + random.whole(half, part - 1)]
    const one: Point = { step: alone, where: where(), by: 'eviction' }
    // An effect that is lost twice.
    const evictions: Point[] = random.rarely(100) ? [{ ...one, where: 'inside' }, one] : random.rarely(2) ? [one] : []
    return by ? [...evictions, { step: together, where: where(), by }] : evictions
  })
}

function said(tasks: readonly WatchedTask[], steps: number): string {
  const falls = tasks.map((task) => task.verdict(steps))
  const sum = (unit: keyof Falls) => falls.reduce((total, one) => total + one[unit], 0)
  const losses = tasks.map((task) => task.losses)
  const evictions = losses.flat().filter(({ by }) => by === 'eviction').length
  const times = losses.map(({ length }) => length)
  assert.ok(sum('inside') > 0 && sum('between') > 0 && sum('beside') > 0, 'The losses fell on one side only')
  return [
    `${evictions} evictions`,
    `${tasks.length} tasks of ${steps} steps, each lost ${Math.min(...times)} to ${Math.max(...times)} times`,
    `${sum('inside')} losses in an effect, which was done once more`,
    `${sum('between')} between two effects, neither of which was`,
    `${sum('beside')} while a result was written down, ${sum('besideAgain')} of which were too early for it`,
    `every other effect exactly once, ${tasks.length * steps + sum('inside') + sum('besideAgain')} altogether`,
  ].join('; ')
}
