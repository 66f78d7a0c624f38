/**
 * A travel desk that asks twice, one after another or at once, and sells a ticket. What it does it tells a diary, which
 * outlives it.
 *
 * `GET /objects` tells how often each object of a session or a round was born in this process, `POST /left` what those
 * with these names hold, and `POST /later?milliseconds=` lets time pass for them, alarms included.
 */
import { exports } from 'cloudflare:workers'
import { type Context, createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import * as z from 'zod'
import type { Left } from './left.ts'

/** Each wrangler.toml makes another version of this code. */
declare const VERSION: number

let ahead = 0
const clock = Date.now
Date.now = () => clock() + ahead

const server = createServer({ name: 'survival', version: String(VERSION) })

const input = z.object({
  /** Nobody else travels by that name. */
  traveller: z.string(),
  /** Where the diary is. */
  diary: z.url(),
  /** Characters that every journal has to carry. */
  luggage: z.int(),
  /** Milliseconds in which an answer is wanted. */
  timeout: z.int().optional(),
})
type Input = z.infer<typeof input>

/** Returns how often this has been written. */
const write = async (diary: string, what: string) => (await fetch(diary, { method: 'POST', body: what })).text()

const begin = async ({ traveller, diary, luggage }: Input, ctx: Context) => {
  await write(diary, `${traveller} is heard`)
  ctx.log('info', 'Welcome')
  return ctx.once('begin', () => ({ by: VERSION, luggage: 'x'.repeat(luggage) }))
}
const sell = ({ traveller, diary }: Input, ctx: Context) =>
  ctx.once('sell', async () => ({ by: VERSION, ticket: await write(diary, `${traveller} pays`) }))

/** Asks whoever can be asked. */
async function ask(ctx: Context, key: string, message: string, timeout: number | undefined): Promise<string> {
  const options = timeout === undefined ? {} : { timeout }
  if (!ctx.supports('elicitation')) return (await ctx.sample(key, { prompt: message, maxTokens: 10 }, options)).text
  const answer = await ctx.elicit(key, message, z.object({ text: z.string() }), options)
  return answer.content?.text ?? answer.action
}

for (const single of [false, true]) {
  const annotations = { destructiveHint: true }
  server.tool(
    single ? 'book_once' : 'book',
    { description: 'Asks, sells and asks again', singleUse: single, inputSchema: input, annotations },
    async (traveller, ctx) => {
      const begun = await begin(traveller, ctx)
      const city = await ask(ctx, 'city', 'Where to?', traveller.timeout)
      ctx.log('info', `${city} it is`)
      const sold = await sell(traveller, ctx)
      const seat = await ask(ctx, 'seat', `Ticket ${sold.ticket} to ${city}. Which seat?`, traveller.timeout)
      ctx.log('info', `${seat} it is`)
      return `${city}, ${seat}, ticket ${sold.ticket}; begun by ${begun.by}, sold by ${sold.by}, ended by ${VERSION}`
    },
  )
  server.tool(
    single ? 'arrange_once' : 'arrange',
    { description: 'Asks two things at once, and sells', singleUse: single, inputSchema: input, annotations },
    async (traveller, ctx) => {
      const begun = await begin(traveller, ctx)
      const [city, day] = await Promise.all([
        ask(ctx, 'city', 'Where to?', traveller.timeout),
        ask(ctx, 'day', 'Which day?', traveller.timeout),
      ])
      ctx.log('info', `${city} and ${day} it is`)
      const sold = await sell(traveller, ctx)
      return `${city}, ${day}, ticket ${sold.ticket}; begun by ${begun.by}, sold by ${sold.by}, ended by ${VERSION}`
    },
  )
}

// A client that is gone is noticed soon. A slow machine must not turn a JSON response into an event stream.
const worker = serve(server, {
  limits: { keepAliveMs: 200, streamAfterMs: 600_000 },
  plugins: [sessions({ revive: false })],
})

/** How often each object was born in this process. */
const births = new Map<string, number>()

export class McpSession extends worker.McpSession {
  #rang: (() => void) | undefined

  constructor(ctx: DurableObjectState, env: never) {
    super(ctx, env)
    const { name } = ctx.id
    // An object that an alarm starts may not know its name. The key ring outlives all sessions.
    if (name !== undefined && name !== 'keys') births.set(name, (births.get(name) ?? 0) + 1)
  }

  /** The platform's clock has stayed behind: what is due by this one rings now. */
  async catchUp(): Promise<void> {
    const { storage } = this.ctx
    for (let rings = 0; rings < 9; rings++) {
      const due = await storage.getAlarm()
      if (due === null || due > Date.now()) return
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#rang = resolve
      await storage.setAlarm(clock())
      await promise
    }
    throw new Error(`${this.ctx.id.name} rings on and on`)
  }

  override async alarm(): Promise<void> {
    await super.alarm()
    this.#rang?.()
  }

  async left(): Promise<Left> {
    const { sql, kv } = this.ctx.storage
    const names = sql.exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'").toArray()
    const count = (table: string, where = '1') =>
      names.some(({ name }) => name === table)
        ? sql.exec<{ rows: number }>(`SELECT count(*) AS rows FROM ${table} WHERE ${where}`).one().rows
        : 0
    return {
      sockets: this.ctx.getWebSockets().length,
      calls: count('calls'),
      questions: count('questions'),
      streams: count('streams', 'id > 0 AND unanswered > 0'),
      keys: [...kv.list()].map(([key]) => key),
      alarm: (await this.ctx.storage.getAlarm()) !== null,
      clock: Date.now(),
    }
  }
}

type Stub = { catchUp(): Promise<void>; left(): Promise<Left> }
const objects = exports as unknown as { McpSession: { getByName(name: string): Stub } }

const everyone = async <T>(request: Request, ask: (object: Stub) => Promise<T>): Promise<T[]> => {
  const names: string[] = await request.json()
  return Promise.all(names.map((name) => ask(objects.McpSession.getByName(name))))
}

export default {
  async fetch(request, env, ctx) {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname === '/objects') return Response.json(Object.fromEntries(births))
    if (pathname === '/left') return Response.json(await everyone(request, (object) => object.left()))
    if (pathname !== '/later') return worker.fetch(request, env, ctx)
    ahead += Number(searchParams.get('milliseconds'))
    return Response.json(await everyone(request, (object) => object.catchUp()))
  },
} satisfies ExportedHandler<never>
