/**
 * Measures thousands of tasks: the cost of each step, and whether data is left afterwards. The bill is
 * counted in a separate run with few tasks, because it is the same for each task.
 */
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { type Json, TaskClient } from '../test/tasks/client.ts'
import { parseKeyRing, sealer, sealerFor } from '../worker/sealing/seal.ts'
import { Folder } from './folder.ts'
import type { Tally } from './servers/billed/tally.ts'
import { type Process, startWorkerd } from './workerd.ts'

/** A step of all tasks: total seconds; for each task, microseconds of CPU, memory of objects in KiB, and its bill. */
export type Step = {
  readonly name: string
  readonly seconds: number
  readonly cpu: number
  readonly memory: number
  readonly tally: Tally
}

/** Runs a step for this many tasks, and measures it. */
type Measure = (name: string, many: number, work: () => Promise<unknown>) => Promise<void>

const [count, countBilled] = [2000, 20]
/** Concurrent requests. */
const concurrency = 16
const day = 86_400_000
/** Milliseconds after which an idle object was evicted. The runtime evicts it after ten seconds. */
const evictedAfter = 13_000
const keys = `bench:${Buffer.alloc(32, 1).toString('base64url')}`
const warmUp = 'warm-up'

/** @throws Error for a wrong task, or for data that is left */
export async function measureTasks(): Promise<Step[]> {
  using folder = new Folder()
  const bills = await bill(join(folder.path, 'billed'))
  using workerd = await start('../test/tasks/server/index.ts', join(folder.path, 'measured'))
  const steps: Step[] = []
  await live(workerd.url, count, async (name, many, work) => {
    const [cpu, memory, since] = [workerd.cpu(), workerd.memory(), performance.now()]
    await work()
    if (name === warmUp) return
    steps.push({
      name,
      seconds: (performance.now() - since) / 1000,
      cpu: ((workerd.cpu() - cpu) * 1000) / many,
      memory: (workerd.memory() - memory) / 1024 / many,
      tally: bills.get(name) as Tally,
    })
  })
  return steps
}

/** The bill of each step of a task, by name. */
async function bill(folder: string): Promise<Map<string, Tally>> {
  using workerd = await start('servers/billed/tasks.ts', folder)
  const read = async () => (await ask(workerd.url, '/counted')) as Tally
  const bills = new Map<string, Tally>()
  await live(workerd.url, countBilled, async (name, many, work) => {
    const before = await read()
    await work()
    // Work of an object after its response belongs to the operation.
    await setTimeout(1000)
    const after = await read()
    const units = Object.keys(before) as (keyof Tally)[]
    bills.set(name, Object.fromEntries(units.map((unit) => [unit, (after[unit] - before[unit]) / many])) as Tally)
  })
  return bills
}

const start = (entry: string, folder: string): Promise<Process> =>
  startWorkerd(
    {
      entry,
      objects: ['McpSession', 'McpSubscriptions', 'McpTask'],
      compatibilityFlags: ['enable_request_signal'],
      bindings: { EDGEMCP_KEYS: keys },
      evicted: true,
    },
    folder,
  )

const ask = async (url: URL, path: string) => (await (await fetch(new URL(path, url))).json()) as Json

/** The steps of this many tasks. */
async function live(url: URL, count: number, measure: Measure): Promise<void> {
  const client = new TaskClient(url)
  const seals = sealerFor(sealer(parseKeyRing(keys)), JSON.stringify(['tasks', '/mcp']))
  const step = <T>(name: string, of: readonly T[], work: (one: T, index: number) => Promise<unknown>) =>
    measure(name, of.length, async () => {
      const waiting = [...of.entries()].reverse()
      const worker = async () => {
        for (let next = waiting.pop(); next; next = waiting.pop()) await work(next[1], next[0])
      }
      await Promise.all(Array.from({ length: concurrency }, worker))
    })
  const numbers = Array.from({ length: count }, (_, index) => index)
  const asking: string[] = []
  const hanging: string[] = []
  await step(warmUp, numbers.slice(0, 200), () => client.begin('quick', { text: 'hi' }))
  await step('created, and asks', numbers, async (number) => {
    asking[number] = await client.begin('asks', { key: `a${number}` })
  })
  await step('polled until it asks', asking, (taskId) => client.until(taskId, 'input_required'))
  await setTimeout(evictedAfter)
  await step('polled, its object asleep', asking, (taskId) => client.get(taskId))
  const answer = { action: 'accept', content: { name: 'Ada' } }
  await step('answered', asking, (taskId) =>
    client.result('tasks/update', { taskId, inputResponses: { one: answer, two: answer } }),
  )
  await step('polled until it is done', asking, (taskId) => client.until(taskId, 'completed'))
  await step('created, and runs', numbers, async (number) => {
    hanging[number] = await client.begin('hangs', { key: `h${number}` })
  })
  await step('cancelled', hanging, (taskId) => client.result('tasks/cancel', { taskId }))
  const opened = await Promise.all([...asking, ...hanging].map((taskId) => seals.open('task', undefined, taskId)))
  const all = opened.map((task) => (task as { name: string }).name)
  await setTimeout(evictedAfter)
  await ask(url, `/later?by=${day + 1}`)
  await step('expires', all, (name) => ask(url, `/later?by=0&name=${name}`))
  for (const name of all) {
    const left = await ask(url, `/left?name=${name}`)
    if (left.alarm || (left.keys as string[]).length > 0) throw new Error(`${name} left ${JSON.stringify(left)}`)
  }
}

/** The measurements as Markdown. */
export const tasksTable = (steps: readonly Step[]): string =>
  [
    `| ${count.toLocaleString('en')} tasks, each | CPU, µs | process grows by, KiB | all of them, s | requests to objects | rows read | rows written | alarms set |`,
    '|---|---|---|---|---|---|---|---|',
    ...steps.map(({ name, seconds, cpu, memory, tally }) => {
      const { requests, rowsRead, rowsWritten, alarmsSet } = tally
      const billed = [requests, rowsRead, rowsWritten, alarmsSet].map((number) => `${Math.round(number * 10) / 10}`)
      return `| ${[name, cpu.toFixed(0), memory.toFixed(1), seconds.toFixed(1), ...billed].join(' | ')} |`
    }),
  ].join('\n')
