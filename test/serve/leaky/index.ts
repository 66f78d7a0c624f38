/**
 * A server whose objects can be asked what they hold, and whose options come from its environment.
 *
 * `GET /objects/session/<name>` and `GET /objects/subscriptions/subscriptions 0` answer with an `Inventory`; with `?until=alone` when
 * the object has no sockets any more. `POST` makes the object's alarm due now, if it has one.
 */
import { env, exports } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'
import * as z from 'zod'
import type { Inventory, LeakyOptions } from './inventory.ts'

const server = createServer({ name: 'leaky', version: '1.0.0' })

server.tool('echo', { description: 'Says it back', inputSchema: z.object({ text: z.string() }) }, ({ text }) => text)

server.tool('count', { description: 'Counts', inputSchema: z.object({ to: z.number() }) }, ({ to }, ctx) => {
  for (let step = 1; step <= to; step++) ctx.progress(step, to)
  return 'counted'
})

server.tool(
  'linger',
  { description: 'Says one thing, and nothing more for a while', inputSchema: z.object({ milliseconds: z.number() }) },
  async ({ milliseconds }, ctx) => {
    ctx.log('info', 'here')
    await scheduler.wait(milliseconds, { signal: ctx.signal })
    return 'gone'
  },
)

server.tool('ask', { description: 'Asks a person' }, async (_, ctx) => {
  const answer = await ctx.elicit('word', 'A word?', z.object({ word: z.string() }))
  return answer.action === 'accept' ? answer.content.word : answer.action
})

let poured = 0
server.tool(
  'pour',
  {
    description: 'Says much, in several turns',
    inputSchema: z.object({ lines: z.number(), characters: z.number(), atOnce: z.number() }),
  },
  async ({ lines, characters, atOnce }, ctx) => {
    const padding = 'x'.repeat(characters)
    for (let line = 0; line < lines; line++) {
      if (line % atOnce === 0) await scheduler.wait(1)
      ctx.log('info', { words: `line ${line}`, padding })
      poured = line + 1
    }
    return 'poured'
  },
)
server.tool('poured', { description: 'How many lines of the last pouring there have been' }, () => String(poured))

const note = server.resource('note://{id}', { name: 'note', description: 'A note' }, ({ id }) => `note ${id}`)
server.tool('touch', { description: 'Changes a note', inputSchema: z.object({ id: z.string() }) }, async ({ id }) => {
  await note.updated({ id })
  return 'touched'
})

const { OPTIONS = '{}' } = env as { OPTIONS?: string }
const { limits, log } = JSON.parse(OPTIONS) as Partial<LeakyOptions>
const worker = serve(server, { ...(limits && { limits }), plugins: [sessions({ log }), subscriptions()] })

/** What the caller wants to happen before the object is looked at. */
type Inspection = { due: boolean; alone: boolean }

async function inspect(state: DurableObjectState, instance: string, { due, alone }: Inspection): Promise<Inventory> {
  const { storage } = state
  if (due && (await storage.getAlarm()) !== null) await storage.setAlarm(Date.now())
  while (alone && state.getWebSockets().length > 0) await scheduler.wait(5)
  const names = storage.sql.exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'").toArray()
  // What the runtime and its local stand-in keep for themselves.
  const own = names.filter(({ name }) => !/^(_cf_|__miniflare_|sqlite_)/.test(name))
  const rowsOf = (name: string) => storage.sql.exec<{ rows: number }>(`SELECT count(*) AS rows FROM ${name}`).one().rows
  return {
    instance,
    sockets: state.getWebSockets().length,
    tables: Object.fromEntries(own.map(({ name }) => [name, rowsOf(name)])),
    keys: [...storage.kv.list()].map(([key]) => key),
    alarm: await storage.getAlarm(),
  }
}

export class McpSession extends worker.McpSession {
  readonly #instance = crypto.randomUUID()

  inspect(inspection: Inspection): Promise<Inventory> {
    return inspect(this.ctx, this.#instance, inspection)
  }
}

export class McpSubscriptions extends worker.McpSubscriptions {
  readonly #instance = crypto.randomUUID()

  inspect(inspection: Inspection): Promise<Inventory> {
    return inspect(this.ctx, this.#instance, inspection)
  }
}

type Namespace = { getByName(name: string): { inspect(inspection: Inspection): Promise<Inventory> } }
const objects = exports as unknown as { McpSession: Namespace; McpSubscriptions: Namespace }

export default {
  async fetch(request: Request, env: unknown, ctx: ExecutionContext): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    const [, kind, name] = /^\/objects\/(session|subscriptions)\/(.+)$/.exec(decodeURIComponent(pathname)) ?? []
    if (!name) return worker.fetch(request, env, ctx)
    const { McpSession, McpSubscriptions } = objects
    const object = (kind === 'session' ? McpSession : McpSubscriptions).getByName(name)
    const inspection = { due: request.method === 'POST', alone: searchParams.get('until') === 'alone' }
    return Response.json(await object.inspect(inspection))
  },
}
