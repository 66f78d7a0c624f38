/**
 * Runs an older edgemcp and this one side by side in workerd, under load: `npm run chaos -- versions --beside v1.2.0 --minutes 30`.
 *
 * Every few seconds a deployment chooses the older one, this one, or both, and restarts all objects. With both, each request and each
 * start of an object takes one of them. Exits with 1 when a client has lost something, or received something twice.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { build } from 'esbuild'
import { Folder } from '../bench/folder.ts'
import type { ReceivedResponse } from '../test/simulation/client-world.ts'
import { checkCall } from '../test/simulation/clients/calls.ts'
import { type Message, SessionClient } from '../test/simulation/clients/session-client.ts'
import { StatelessClient } from '../test/simulation/clients/stateless-client.ts'
import { Diary } from '../test/simulation/diary.ts'
import { RealWorld } from '../test/simulation/fidelity/real-world.ts'
import { entryPointsOf } from '../test/simulation/platform/bundle.ts'
import { startServer } from '../test/support/server.ts'
import { sourceOf } from './source-of.ts'

const root = resolve(import.meta.dirname, '..')
const options = { beside: { type: 'string' }, minutes: { type: 'string', default: '30' } } as const
const { values, positionals } = parseArgs({ options, allowPositionals: true })
if (positionals.join() !== 'versions' || values.beside === undefined) {
  throw new Error('Use npm run chaos -- versions --beside <commit> [--minutes <number>]')
}

/** A Worker in which both versions run. Its objects restart when others are deployed, as they do on Cloudflare. */
const entry = `
import * as older from './older.js'
import * as newer from './newer.js'
const all = [older, newer]
let deployed = all
const running = new Map()
const pick = (versions) => versions[Math.floor(Math.random() * versions.length)]
function either(name) {
  const classes = new Map(all.map((version) => [version, class extends version[name] {
    constructor(ctx, env) {
      super(ctx, env)
      running.set(name + ' ' + ctx.id.name, { name, object: ctx.id.name })
    }
    restart() {
      this.ctx.abort('Durable Object reset because its code was updated.')
    }
  }]))
  return new Proxy(classes.get(newer), { construct: (_, args) => new (classes.get(pick(deployed)))(...args) })
}
export const McpSession = either('McpSession')
export const McpSubscriptions = either('McpSubscriptions')
export const McpTask = either('McpTask')
export const McpState = either('McpState')
export default {
  async fetch(request, env, ctx) {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname !== '/deploy') return pick(deployed).default.fetch(request, env, ctx)
    deployed = all.filter((_, index) => searchParams.get('versions').includes(index))
    const objects = [...running.values()]
    running.clear()
    await Promise.all(objects.map(({ name, object }) => ctx.exports[name].getByName(object).restart().catch(() => {})))
    return new Response(String(objects.length))
  },
}
`

const folder = new Folder()
const main = 'test/simulation/server/index.ts'
const bundle = (source: string, outfile: string) =>
  build({
    absWorkingDir: root,
    entryPoints: [main],
    outfile: join(folder.path, outfile),
    bundle: true,
    format: 'esm',
    target: 'es2024',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:*', 'node:*'],
    alias: entryPointsOf(source),
    nodePaths: [join(root, 'node_modules')],
    define: { 'process.env.NODE_ENV': '"production"' },
  })
await Promise.all([bundle(sourceOf(values.beside), 'older.js'), bundle(root, 'newer.js')])
writeFileSync(join(folder.path, 'index.js'), entry)
const config = readFileSync(join(root, 'test/simulation/server/wrangler.toml'), 'utf8').replace('index.ts', 'index.js')
writeFileSync(join(folder.path, 'wrangler.toml'), config)

const diary = new Diary()
await using server = await startServer(folder.path, {}, (request) =>
  request.url.startsWith('https://diary.example/') ? diary.answer(request) : undefined,
)
/** Milliseconds after a deployment in which a request may fail: its object restarts, and clients come back. */
const recoveryMs = 1500

class DeployedWorld extends RealWorld {
  /** When the last deployment has ended, in milliseconds since 1970. */
  deployedAt = 0

  /** A deployment explains a failure. @param since when the request was sent, in milliseconds since 1970 */
  explain(what: string, since: number): void {
    assert.ok(since - this.deployedAt < recoveryMs || this.deployedAt > since, `Without a deployment: ${what}`)
    counts.failures += 1
  }

  override async request(...args: Parameters<RealWorld['request']>): Promise<ReceivedResponse> {
    const sentAt = Date.now()
    const response = await super.request(...args)
    if (response.status >= 500) this.explain(`status ${response.status}`, sentAt)
    return response
  }
}

const world = new DeployedWorld(server, diary)
const endsAt = Date.now() + Number(values.minutes) * 60_000
const counts = { deployments: 0, restarts: 0, failures: 0, calls: 0, changes: 0, visits: 0, items: 0, tasks: 0 }
let failure: unknown
const isOver = () => failure !== undefined || Date.now() > endsAt

/** Calls tools of a session that stream, and that ask their client. */
async function callTools(client: SessionClient, key: string): Promise<void> {
  const [steps, pauseMs] = [world.random.whole(1, 8), world.random.whole(0, 800)]
  const tool = world.random.pick(['count', 'pay', 'ask'])
  const sentAt = Date.now()
  const call = await client.call(tool, { key, steps, pauseMs })
  checkCall(call, world)
  if (call.outcome === 'unknown') world.explain(`${key}: no response`, sentAt)
  counts.calls += 1
}

/** Counts visits of a session. One whose answer was lost is repeated. */
async function visit(client: SessionClient, last: number): Promise<number> {
  const number = Number(textOf(await succeed(client, 'visit', {})))
  assert.ok(number > last, `a visit is number ${number}, after ${last}`)
  counts.visits += 1
  return number
}

async function runSessions(name: string): Promise<void> {
  for (let round = 0; !isOver(); round += 1) {
    const client = new SessionClient(world)
    await client.open()
    let visits = 0
    for (let step = 0; step < 5 && !isOver(); step += 1) {
      await callTools(client, `${name} ${round}.${step}`)
      visits = await visit(client, visits)
    }
    await client.close()
  }
}

/** A subscriber hears of each change. */
async function runSubscriptions(name: string): Promise<void> {
  const [reader, writer] = [new SessionClient(world), new SessionClient(world)]
  await reader.open()
  await writer.open()
  let updates = 0
  const stop = new AbortController()
  const opened = Promise.withResolvers<void>()
  const onMessage = ({ method }: Message) => {
    if (method === 'notifications/resources/updated') updates += 1
  }
  watch(reader.listen(onMessage, stop.signal, () => opened.resolve()))
  await opened.promise
  await reader.ask('resources/subscribe', { uri: `note://${name}` })
  while (!isOver()) {
    const before = updates
    await succeed(writer, 'write', { id: name })
    const since = Date.now()
    while (updates === before) {
      assert.ok(Date.now() - since < 60_000, `${name}: a change was acknowledged, and its subscriber was not notified`)
      await world.sleep(20)
    }
    counts.changes += 1
    await world.sleep(world.random.between(0, 1000))
  }
  stop.abort()
}

/** Items of a basket stay, also without a session. */
async function runBaskets(): Promise<void> {
  const client = new StatelessClient(world)
  const call = async (tool: string, args: object) => {
    for (;;) {
      const { message } = await client.call(tool, args)
      if (!isUnreachable(message)) return textOf(message)
      await world.sleep(200)
    }
  }
  const basket = await call('new_basket', {})
  for (let known = 0; !isOver(); counts.items += 1) {
    await call('add', { basket })
    const [items, lines] = JSON.parse(await call('show', { basket }))
    assert.equal(items, lines, 'what one operation writes is stored in part')
    assert.ok(items > known, `a basket of ${known} has ${items} after another one was added`)
    known = items
    await world.sleep(world.random.between(0, 500))
  }
}

/** A task that sleeps ends with one result. */
async function runTasks(name: string): Promise<void> {
  const client = new SessionClient(world)
  await client.open()
  for (let round = 0; !isOver(); round += 1) {
    const args = { key: `${name} ${round}`, hours: world.random.between(0, 0.003) }
    const created = await client.ask('tools/call', { name: 'report', arguments: args, task: { ttl: 3_600_000 } })
    const { taskId } = Object(created.result?.task)
    assert.equal(typeof taskId, 'string', JSON.stringify(created))
    for (let status: unknown, polls = 0; status !== 'completed'; polls += 1) {
      assert.ok(polls < 120, `${args.key}: the task is ${status}`)
      await world.sleep(1000)
      const { result, error } = await client.ask('tasks/get', { taskId })
      status = result?.status
      assert.ok(status === 'working' || status === 'completed', `${args.key}: ${JSON.stringify(result ?? error)}`)
    }
    const { facts } = JSON.parse(textOf(await client.ask('tasks/result', { taskId })))
    assert.match(facts, new RegExp(`^${args.key} \\d+$`))
    counts.tasks += 1
  }
}

/** Repeats a call whose handler could not reach an object. */
async function succeed(client: SessionClient, name: string, args: object): Promise<Message> {
  for (;;) {
    const message = await client.ask('tools/call', { name, arguments: args })
    if (message.result && !message.result.isError) return message
    assert.ok(isUnreachable(message), JSON.stringify(message))
    await world.sleep(200)
  }
}

const isUnreachable = (message: Message) =>
  /Network connection lost|interrupted|code was updated|cannot access storage/.test(
    JSON.stringify(message.result ?? message.error),
  )

function textOf({ result, error }: Message): string {
  const [first] = Object(result).content ?? []
  assert.ok(typeof first?.text === 'string' && !Object(result).isError, JSON.stringify(result ?? error))
  return first.text
}

/** Ends the run when a client fails. */
function watch(work: Promise<unknown>): void {
  work.catch((problem) => {
    failure ??= problem
  })
}

/** The older one, both, this one, and back: each deployment from every other one. */
async function deploy(): Promise<void> {
  while (!isOver()) {
    await world.sleep(world.random.between(2000, 8000))
    const versions = world.random.pick(['0', '1', '01', '01'])
    world.faultCount += 1
    world.lossCount += 1
    world.deployedAt = Number.POSITIVE_INFINITY
    counts.restarts += Number(await (await fetch(new URL(`/deploy?versions=${versions}`, server.url))).text())
    world.deployedAt = Date.now()
    counts.deployments += 1
  }
}

const load = [
  ...Array.from({ length: 12 }, (_, index) => runSessions(`session ${index}`)),
  ...Array.from({ length: 4 }, (_, index) => runSubscriptions(`note-${index}`)),
  ...Array.from({ length: 4 }, () => runBaskets()),
  ...Array.from({ length: 4 }, (_, index) => runTasks(`task ${index}`)),
  deploy(),
]
for (const work of load) watch(work)
await Promise.allSettled(load)
for (const [what, count] of Object.entries(counts)) console.log(`${count} ${what}`)
console.log(failure === undefined ? 'Nothing was lost.' : failure)
process.exitCode = failure === undefined ? 0 : 1
