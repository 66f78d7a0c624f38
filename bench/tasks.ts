/** Thousands of tasks at a time: what each step of their lives costs, and whether anything is left of them in the end. */
import { setTimeout } from 'node:timers/promises'
import { type Json, TaskClient } from '../test/tasks/client.ts'
import { parseKeyRing, sealer } from '../worker/auth/seal.ts'
import { Folder } from './folder.ts'
import { startWorkerd } from './workerd.ts'

/** A step of all their lives: seconds altogether, microseconds of CPU and objects' memory for each, in KiB. */
export type Step = { readonly name: string; readonly seconds: number; readonly cpu: number; readonly memory: number }

const count = 2000
/** Requests at a time. */
const concurrency = 16
const day = 86_400_000
const keys = `bench:${Buffer.alloc(32, 1).toString('base64url')}`

/** @throws Error when a task is not what it should be, or leaves something */
export async function measureTasks(): Promise<Step[]> {
  using folder = new Folder()
  using workerd = await startWorkerd(
    {
      entry: '../test/tasks/server/index.ts',
      objects: ['McpSession', 'McpUpdates', 'McpTask'],
      compatibilityFlags: ['enable_request_signal'],
      bindings: { EDGEMCP_KEYS: keys },
      evicted: true,
    },
    folder.path,
  )
  const client = new TaskClient(workerd.url)
  const seals = sealer(parseKeyRing(keys))
  const steps: Step[] = []
  const step = async <T>(name: string, of: readonly T[], work: (one: T, index: number) => Promise<unknown>) => {
    const [cpu, memory, since] = [workerd.cpu(), workerd.memory(), performance.now()]
    const waiting = [...of.entries()].reverse()
    const worker = async () => {
      for (let next = waiting.pop(); next; next = waiting.pop()) await work(next[1], next[0])
    }
    await Promise.all(Array.from({ length: concurrency }, worker))
    steps.push({
      name,
      seconds: (performance.now() - since) / 1000,
      cpu: ((workerd.cpu() - cpu) * 1000) / of.length,
      memory: (workerd.memory() - memory) / 1024 / of.length,
    })
  }
  const numbers = Array.from({ length: count }, (_, index) => index)
  const asking: string[] = []
  const hanging: string[] = []
  await step('warm-up', numbers.slice(0, 200), () => client.begin('quick', { text: 'hi' }))
  steps.length = 0
  await step('created, and asks', numbers, async (number) => {
    asking[number] = await client.begin('asks', { key: `a${number}` })
  })
  await step('polled until it asks', asking, (taskId) => client.until(taskId, 'input_required'))
  await setTimeout(13_000)
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
  const ask = async (path: string) => (await (await fetch(new URL(path, workerd.url))).json()) as Json
  const all = await Promise.all([...asking, ...hanging].map((taskId) => seals.open('task', undefined, taskId)))
  await ask(`/later?by=${day + 1}`)
  await step('expires', all, (name) => ask(`/later?by=0&name=${name}`))
  for (const name of all) {
    const left = await ask(`/left?name=${name}`)
    if (left.alarm || (left.keys as string[]).length > 0) throw new Error(`${name} left ${JSON.stringify(left)}`)
  }
  return steps
}

/** As Markdown. */
export const tasksTable = (steps: readonly Step[]): string =>
  [
    `| ${count} tasks, each | CPU, µs | process grows by, KiB | all of them, s |`,
    '|---|---|---|---|',
    ...steps.map(
      ({ name, seconds, cpu, memory }) =>
        `| ${name} | ${cpu.toFixed(0)} | ${memory.toFixed(1)} | ${seconds.toFixed(1)} |`,
    ),
  ].join('\n')
