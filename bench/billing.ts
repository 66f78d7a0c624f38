/**
 * Computes what servers with sessions would be billed for: runs the same operations on each, and counts requests to objects,
 * rows, and objects that were started. `npm run cost` has more details of edgemcp.
 */
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { Client } from './compare/client.ts'
import { type Scenario, scenarios } from './compare/scenarios.ts'
import { sessions } from './compare/ways.ts'
import { Folder } from './folder.ts'
import { listen } from './http.ts'
import type { Tally } from './servers/billed/tally.ts'
import { startWorkerd, type Worker } from './workerd.ts'

export type Bill = {
  readonly server: string
  readonly operations: readonly { readonly name: string; readonly tally: Tally }[]
  /** Was the Session object in memory the whole time that its stream was open and idle? */
  readonly isAwake: boolean
}

/** Dollars for each, as in docs/guides/costs.md. */
const prices = { http: 0.3e-6, requests: 0.15e-6, messages: 0.15e-6 / 20, rowsRead: 0.001e-6, rowsWritten: 1e-6 }
/** Dollars for a day of an object in memory: 128 MB, at $12.50 for a million GB-s. */
const dayAwake = 0.128 * 86_400 * 12.5e-6
/** Milliseconds after which an idle object was evicted. The runtime evicts it after ten seconds. */
const evictedAfter = 13_000
/** How often each operation is run, in a separate session where required. */
const times = 20

const billed = (name: string, objects: readonly string[], compatibilityFlags: readonly string[] = []): Worker => ({
  entry: `servers/billed/${name}.ts`,
  objects,
  compatibilityFlags,
  evicted: true,
})

const edgemcp = billed('edgemcp', ['McpSession'], ['enable_request_signal'])
const servers: readonly { readonly name: string; readonly worker: Worker }[] = [
  { name: 'edgemcp', worker: edgemcp },
  { name: 'SDK v2', worker: billed('sdk-sessions', ['SdkSession']) },
  { name: 'agents, McpAgent', worker: billed('agents-mcp-agent', ['BenchAgent']) },
]

export async function measureBills(): Promise<Bill[]> {
  using folder = new Folder()
  const bills: Bill[] = []
  for (const { name, worker } of servers) bills.push(await measure(name, worker, join(folder.path, name)))
  return bills
}

/** Counts what an operation costs on average, after each session has run one. */
export async function tallyOf(scenario: Scenario, folder: string): Promise<Tally> {
  const { offer, sizes, readPauseMs } = scenario
  await using counted = await start({ ...edgemcp, offer, sizes }, folder, readPauseMs)
  const { client } = counted
  await client.open(times)
  const runAll = () => Promise.all(Array.from({ length: times }, (_, number) => scenario.run(client, number)))
  await runAll()
  // `counted` is disposed of after that.
  return await counted.count(runAll)
}

async function measure(server: string, worker: Worker, folder: string): Promise<Bill> {
  const operations: { name: string; tally: Tally }[] = []
  const run = async (key: string) => {
    const scenario = scenarios.find((one) => one.key === key)
    if (!scenario) throw new Error(`There is no scenario ${key}`)
    await using counted = await start({ ...worker, offer: scenario.offer }, join(folder, key))
    const { client } = counted
    // Costs that occur once in an isolate do not belong to an operation.
    await client.open(1)
    await scenario.run(client, 0)
    const opening = await counted.count(() => client.open(times + 1))
    const played = await counted.count(async () => {
      for (let number = 1; number <= times; number += 1) await scenario.run(client, number)
    })
    if (operations.length === 0)
      operations.push({ name: 'a new session: `initialize`, `notifications/initialized`', tally: opening })
    operations.push({ name: scenario.name, tally: played })
  }
  for (const key of ['sessions', 'progress', 'askSession']) await run(key)
  return { server, operations, isAwake: await staysAwake(worker, join(folder, 'idle')) }
}

async function staysAwake(worker: Worker, folder: string): Promise<boolean> {
  await using counted = await start({ ...worker, offer: 'plain' }, folder)
  const { client, url } = counted
  const session = await client.openSession()
  const response = await listen(url, { ...session, 'MCP-Protocol-Version': client.way.revision })
  await setTimeout(evictedAfter)
  const { woken } = await counted.count(async () => {
    await client.call('tools/list', {}, session)
  })
  response.destroy()
  return woken === 0
}

async function start(worker: Worker, folder: string, readPauseMs?: number) {
  const workerd = await startWorkerd(worker, folder)
  const client = new Client(workerd.url, sessions('2025-11-25'), readPauseMs)
  const read = async () => (await (await fetch(new URL('/counted', workerd.url))).json()) as Tally
  return {
    url: workerd.url,
    client,
    async count(work: () => Promise<unknown>): Promise<Tally> {
      const before = await read()
      await work()
      // Work of an object after its response belongs to the operation.
      await setTimeout(200)
      const after = await read()
      const names = Object.keys(before) as (keyof Tally)[]
      return Object.fromEntries(names.map((name) => [name, (after[name] - before[name]) / times])) as Tally
    },
    async [Symbol.asyncDispose](): Promise<void> {
      client.close()
      workerd.stop()
    },
  }
}

/** The bills as Markdown. */
export function billsTable(bills: readonly Bill[]): string {
  const head = ['', '', 'HTTP', 'objects', 'messages', 'read', 'written', '$ for a million']
  const [first] = bills as [Bill]
  const rows = first.operations.flatMap(({ name }, at) =>
    bills.map(({ server, operations }, index) => {
      const { tally } = operations[at] as { tally: Tally }
      const units = Object.keys(prices) as (keyof typeof prices)[]
      const dollars = units.reduce((sum, unit) => sum + tally[unit] * prices[unit] * 1e6, 0)
      const counts = units.map((unit) => `${Math.round(tally[unit] * 10) / 10}`)
      return [index === 0 ? name : '', server, ...counts, dollars.toFixed(2)]
    }),
  )
  const table = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`)
  const idle = bills.map(
    ({ server, isAwake }) =>
      `| ${server} | ${isAwake ? 'yes' : 'no'} | ${isAwake ? (dayAwake * 1000).toFixed(0) : 0} |`,
  )
  const asleep = [
    '| a stream on which nothing happens | object awake | $ for a thousand of them, a day |',
    '|---|---|---|',
    ...idle,
  ]
  return [...table, '', ...asleep].join('\n')
}
