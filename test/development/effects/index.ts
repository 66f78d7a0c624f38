/** Handlers that ask, and do what is to be done once: some as they should, some not. */
import { DurableObject, exports, env as workerEnv } from 'cloudflare:workers'
import { type Context, createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { type Store, state } from 'edgemcp/state'
import * as z from 'zod'

type Bindings = { NOTES: KVNamespace; FILES: R2Bucket; DB: D1Database; MAIL: Queue }

const env = workerEnv as unknown as Bindings
const server = createServer({ name: 'effects', version: '1.0.0' })
const input = z.object({ url: z.string() })
const Sure = z.object({ sure: z.boolean() })
const day = 24 * 60 * 60_000

const sure = (ctx: Context, key = 'sure') => ctx.elicit(key, 'Sure?', Sure)
const table = 'CREATE TABLE IF NOT EXISTS rows (id INTEGER)'

// What is told of

server.tool('fetch_first', { description: 'Calls, then asks', inputSchema: input }, async ({ url }, ctx) => {
  await fetch(url)
  await sure(ctx)
  await sure(ctx, 'really')
  return 'done'
})

server.tool(
  'through_another',
  { description: 'Calls through a function', inputSchema: input },
  async ({ url }, ctx) => {
    await Promise.all([load(url)])
    await sure(ctx)
    return 'done'
  },
)

async function load(url: string): Promise<string> {
  await Promise.resolve()
  const response = await fetch(url)
  return response.text()
}

server.tool('write_everywhere', { description: 'Writes, then asks' }, async (_, ctx) => {
  await env.NOTES.put('a', 'b')
  await env.NOTES.delete('a')
  await env.FILES.put('a', 'b')
  await env.FILES.delete('a')
  await env.DB.exec(table)
  await env.DB.prepare('INSERT INTO rows VALUES (?)').bind(1).run()
  await env.DB.prepare('DELETE FROM rows RETURNING id').all()
  await env.DB.batch([env.DB.prepare('DELETE FROM rows')])
  await env.DB.withSession().batch([env.DB.prepare('DELETE FROM rows')])
  await env.MAIL.send('a')
  await env.MAIL.sendBatch([{ body: 'a' }])
  await caches.default.put('http://effects.example/', new Response('a', { headers: { 'Cache-Control': 'max-age=9' } }))
  await caches.default.delete('http://effects.example/')
  await sure(ctx)
  return 'done'
})

const values = state<{ a: number }>('values', { per: 'handle', ttl: day })
const visits = state('visits', { per: 'handle', ttl: day }, (store: Store<{ count: number }>) => ({
  add: () => store.put('count', (store.get('count') ?? 0) + 1),
  put: () => store.get('count'),
}))

server.tool('write_state', { description: 'Writes into states, then asks' }, async (_, ctx) => {
  const mine = ctx.state(values, await ctx.once('values', () => ctx.createHandle(values)))
  await mine.get('a')
  await mine.put('a', 1)
  await mine.delete('a')
  const counted = ctx.state(visits, await ctx.once('visits', () => ctx.createHandle(visits)))
  await counted.put()
  await sure(ctx)
  return 'done'
})

server.tool('forget', { description: 'Forgets a state, then asks' }, async (_, ctx) => {
  const counted = ctx.state(visits, await ctx.once('visits', () => ctx.createHandle(visits)))
  await counted.deleteAll()
  await sure(ctx)
  return 'done'
})

server.tool(
  'between',
  { description: 'Calls between two questions, and after them', inputSchema: input },
  async ({ url }, ctx) => {
    await sure(ctx, 'first')
    await env.NOTES.put('between', url)
    await sure(ctx, 'second')
    await env.NOTES.put('after', url)
    return 'done'
  },
)

server.tool('beside', { description: 'Writes beside a question' }, async (_, ctx) => {
  await Promise.all([sure(ctx), env.NOTES.put('beside', 'a')])
  return 'done'
})

server.tool('unawaited', { description: 'Writes without waiting for its answer' }, async (_, ctx) => {
  sure(ctx)
  await env.NOTES.put('unawaited', 'a')
  return 'done'
})

server.tool(
  'late',
  { description: 'Writes when the question has long been sent', inputSchema: input },
  async ({ url }, ctx) => {
    const later = load(url).then(() => env.NOTES.put('late', 'a'))
    await sure(ctx)
    await later
    return 'done'
  },
)

server.tool('in_a_timer', { description: 'Writes in a timer, then asks' }, async (_, ctx) => {
  await new Promise<void>((resolve) => {
    setTimeout(() => env.NOTES.put('timer', 'a').then(() => resolve()), 1)
  })
  await sure(ctx)
  return 'done'
})

server.tool('ask_for_page', { description: 'Writes, then sends to a page' }, async (_, ctx) => {
  await env.NOTES.put('page', 'a')
  await ctx.elicitUrl('page', 'Go there', 'https://effects.example/')
  return 'done'
})

server.tool('ask_model', { description: 'Writes, then asks the model' }, async (_, ctx) => {
  await env.NOTES.put('model', 'a')
  await ctx.sample('model', { prompt: 'Well?', maxTokens: 9 })
  return 'done'
})

server.tool('ask_roots', { description: 'Writes, then asks for folders' }, async (_, ctx) => {
  await env.NOTES.put('roots', 'a')
  await ctx.roots()
  return 'done'
})

server.tool('ask_raw', { description: 'Writes, then asks in the raw form' }, async (_, ctx) => {
  await env.NOTES.put('raw', 'a')
  if (ctx.inputResponse('one')) return 'done'
  const params = { mode: 'form', message: 'Sure?', requestedSchema: { type: 'object', properties: {} } }
  return ctx.requestInput({
    one: { method: 'elicitation/create', params },
    two: { method: 'elicitation/create', params },
  })
})

server.prompt('prompted', { description: 'Calls, then asks', argsSchema: input }, async ({ url }, ctx) => {
  await fetch(url)
  await sure(ctx)
  return 'done'
})

server.resource('effects://one/{id}', { description: 'Writes, then asks' }, async (_, ctx) => {
  await env.NOTES.put('resource', 'a')
  await sure(ctx)
  return 'done'
})

// What is not

server.tool('once', { description: 'Calls once, then asks', inputSchema: input }, async ({ url }, ctx) => {
  await ctx.once('fetch', () => load(url))
  await ctx.once('put', () => env.NOTES.put('once', 'a'))
  const mine = ctx.state(values, await ctx.once('handle', () => ctx.createHandle(values)))
  await ctx.once('state', () => mine.put('a', 1))
  await sure(ctx)
  return 'done'
})

server.tool('after', { description: 'Asks, then calls', inputSchema: input }, async ({ url }, ctx) => {
  await sure(ctx)
  await fetch(url)
  return 'done'
})

server.tool('never_asks', { description: 'Calls', inputSchema: input }, async ({ url }) => {
  await fetch(url)
  return 'done'
})

server.tool('may_ask', { description: 'Asks whoever can be asked', inputSchema: input }, async ({ url }, ctx) => {
  await fetch(url)
  return sure(ctx).then(
    () => 'asked',
    () => 'not asked',
  )
})

server.tool('reads', { description: 'Reads, then asks' }, async (_, ctx) => {
  await env.NOTES.get('a')
  await env.FILES.head('a')
  await env.DB.prepare("SELECT 'insert' AS word -- delete").run()
  await env.DB.batch([env.DB.prepare('SELECT 1')])
  await caches.default.match('http://effects.example/')
  await sure(ctx)
  return 'done'
})

server.tool('raw_and_careful', { description: 'Writes only when it asks' }, async (_, ctx) => {
  if (ctx.inputResponse('one')) return 'done'
  await env.NOTES.put('careful', 'a')
  const params = { mode: 'form', message: 'Sure?', requestedSchema: { type: 'object', properties: {} } }
  return ctx.requestInput({ one: { method: 'elicitation/create', params } })
})

let visibility = ''

server.tool(
  'looked_at',
  {
    description: 'Is looked for elsewhere, then asks',
    inputSchema: input,
    visibleTo: async () => visibility === '' || (await fetch(visibility)).ok,
  },
  async ({ url }, ctx) => {
    visibility = url
    await sure(ctx)
    visibility = ''
    return 'done'
  },
)

export class Desk extends DurableObject {
  async write(url: string): Promise<void> {
    await fetch(url)
    await env.NOTES.put('desk', 'a')
  }
}

const desk = () => (exports as unknown as { Desk: DurableObjectNamespace<Desk> }).Desk.getByName('desk')

server.tool(
  'ask_the_desk',
  { description: 'Lets an object write, then asks', inputSchema: input },
  async ({ url }, ctx) => {
    await desk().write(url)
    await sure(ctx)
    return 'done'
  },
)

server.tool('waits', { description: 'Waits, then asks', inputSchema: input }, async ({ url }, ctx) => {
  await ctx.once('wait', () => load(url))
  await sure(ctx)
  return 'done'
})

server.tool('say', { description: 'Says something', inputSchema: z.object({ text: z.string() }) }, ({ text }) => {
  console.log(text)
  return 'said'
})

/** How it fails, and what it looks like. */
async function lookOfThings(): Promise<unknown> {
  const failure = async (work: () => unknown) => {
    try {
      return String(await work())
    } catch (thrown) {
      return String(thrown)
    }
  }
  return {
    fetch: [fetch.name, fetch.length, typeof fetch, Object.getOwnPropertyDescriptor(globalThis, 'fetch')],
    put: [env.NOTES.put.name, env.NOTES.put.length, Object.keys(env.NOTES)],
    failures: [
      await failure(() => fetch('nonsense:')),
      await failure(() => env.NOTES.put('a', 'b', { expirationTtl: 1 })),
      await failure(() => env.NOTES.put.call({} as KVNamespace, 'a', 'b')),
      await failure(() => env.DB.exec('NONSENSE')),
      await failure(() => env.DB.prepare('NONSENSE').run()),
      await failure(() => env.MAIL.send(() => 1)),
    ],
  }
}

const worker = serve(server, { plugins: [sessions()] })

export default {
  async fetch(request: Request, bindings: unknown, ctx: ExecutionContext): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname === '/look') return Response.json(await lookOfThings())
    if (pathname !== '/other') return worker.fetch(request, bindings, ctx)
    await load(searchParams.get('url') as string)
    await env.NOTES.put('other', 'a')
    return new Response('written')
  },
}

export const { McpSession } = worker
export { McpState } from 'edgemcp/state'
