/** Tools that run as tasks. What they did is kept in memory; the clock can be put forward. */
import { exports } from 'cloudflare:workers'
import { createServer, McpError, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'
import { tasks } from 'edgemcp/tasks'
import * as z from 'zod'

const server = createServer({ name: 'tasks', version: '1.0.0' })

const realNow = Date.now
/** Milliseconds that this server is ahead of the environment, whose alarms know nothing of it. */
let ahead = 0
Date.now = () => realNow() + ahead

const tries = new Map<string, number>()
const count = (key: string) => {
  tries.set(key, (tries.get(key) ?? 0) + 1)
  return tries.get(key) as number
}

server.tool(
  'quick',
  { description: 'Says it at once', task: true, inputSchema: z.object({ text: z.string() }) },
  ({ text }) => text,
)

server.tool('plain', { description: 'Is no task' }, () => 'plain')

server.tool(
  'union',
  {
    description: 'Returns an object or a text',
    task: true,
    outputSchema: z.union([z.object({ tag: z.string() }), z.string()]),
  },
  () => ({ tag: 'object' }),
)

server.tool('must', { description: 'Is a task or nothing', task: { required: true } }, () => 'done')

server.tool(
  'soon',
  {
    description: 'A task, if it is not done soon',
    task: { answerWithin: '300ms' },
    inputSchema: z.object({ wait: z.number() }),
  },
  async ({ wait }, ctx) => {
    await ctx.sleep('wait', wait)
    return `waited ${wait}`
  },
)

server.tool(
  'asks',
  {
    description: 'Asks for two names',
    task: { ttl: '1h', pollInterval: '100ms' },
    inputSchema: z.object({ key: z.string() }),
  },
  async ({ key }, ctx) => {
    await ctx.once('before', () => count(key))
    const name = z.object({ name: z.string() })
    const [one, two] = await Promise.all([ctx.elicit('one', 'One?', name), ctx.elicit('two', 'Two?', name)])
    const said = [one, two].map((answer) => (answer.action === 'accept' ? answer.content.name : answer.action))
    return `${said.join(' and ')}, begun ${tries.get(key)} time`
  },
)

server.tool(
  'sleeps',
  { description: 'Sleeps an hour, twice', task: { ttl: '1d' }, inputSchema: z.object({ key: z.string() }) },
  async ({ key }, ctx) => {
    const first = await ctx.once('first', () => count(key))
    ctx.progress(1, 3, 'asleep')
    await ctx.sleep('first hour', '1h')
    ctx.progress(2, 3)
    await ctx.sleep('second hour', '1h')
    return `${first} of ${count(key)}`
  },
)

server.tool(
  'flaky',
  { description: 'Fails twice', task: { retries: 2 }, inputSchema: z.object({ key: z.string(), fails: z.number() }) },
  async ({ key, fails }, ctx) => {
    const effect = await ctx.once('effect', () => count(`${key} effect`))
    if (count(key) <= fails) throw new Error(`Failed, time ${tries.get(key)}`)
    return `effect ${effect}, try ${tries.get(key)}`
  },
)

server.tool(
  'large',
  { description: 'Says a lot', task: true, inputSchema: z.object({ size: z.number() }) },
  ({ size }) => 'x'.repeat(size),
)

server.tool('refuses', { description: 'Ends with an error', task: true }, () => {
  throw new McpError('invalid_params', 'Not like this', { reason: 'test' })
})

server.tool(
  'hangs',
  { description: 'Waits until it is cancelled', task: true, inputSchema: z.object({ key: z.string() }) },
  async ({ key }, ctx) => {
    await ctx.once('begun', () => count(key))
    await new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve()))
    count(`${key} cancelled`)
    return 'never heard'
  },
)

server.tool(
  'tidies',
  {
    description: 'Sleeps an hour, and tidies up when it may not',
    task: true,
    inputSchema: z.object({ key: z.string() }),
  },
  async ({ key }, ctx) => {
    await ctx.once('begun', () => count(key))
    try {
      await ctx.sleep('hour', '1h')
    } catch (problem) {
      await ctx.once('tidied', () => count(`${key} tidied: ${(problem as Error).message}`))
      throw problem
    }
    return 'slept'
  },
)

server.tool(
  'lost',
  { description: 'Loses its object once', task: true, inputSchema: z.object({ key: z.string() }) },
  async ({ key }, ctx) => {
    const time = count(key)
    if (time > 1) return `done in try ${time}`
    await ctx.once('lost', () => abandon())
    return 'never'
  },
)

server.tool('fails', { description: 'Fails', task: true }, () => {
  throw new Error('It went wrong')
})

server.tool('again', { description: 'Asks until it hears of Grace', task: true }, async (_, ctx) => {
  const said = ctx.inputResponse('name')?.content?.name
  if (said === 'Grace') return 'Hello, Grace'
  const requestedSchema = { type: 'object' as const, properties: { name: { type: 'string' as const } } }
  return ctx.requestInput({ name: { method: 'elicitation/create', params: { message: 'Who?', requestedSchema } } })
})

const form = z.object({ yes: z.boolean() })

server.tool(
  'charge',
  {
    description: 'Charges, asks, and takes a moment, as a call unless that is too long',
    task: { answerWithin: '10s', ttl: '1s' },
    inputSchema: z.object({ key: z.string(), long: z.boolean().default(false) }),
  },
  async ({ key, long }, ctx) => {
    await ctx.once('charge', () => count(key))
    const { action } = await ctx.elicit('sure', 'Sure?', form)
    await ctx.once('moment', () => new Promise<void>((resolve) => setTimeout(resolve, 100)))
    await ctx.once('ship', () => count(`${key} shipped`))
    if (long) await ctx.sleep('long', '11s')
    return `${action}, charged ${tries.get(key)} time, shipped ${tries.get(`${key} shipped`)} time`
  },
)

server.tool(
  'unsayable',
  { description: 'Returns what JSON cannot say', task: true, inputSchema: z.object({ key: z.string() }) },
  async ({ key }, ctx) => {
    await ctx.once('charge', () => count(key))
    return { content: [{ type: 'text' as const, text: 'done' }], _meta: { at: 1n } } as never
  },
)

server.tool(
  'big_question',
  {
    description: 'Asks the model about something long',
    task: true,
    inputSchema: z.object({ key: z.string(), size: z.number() }),
  },
  async ({ key, size }, ctx) => {
    await ctx.once('charge', () => count(key))
    const { text } = await ctx.sample('sum', { prompt: 'ж'.repeat(size), maxTokens: 100 })
    return text
  },
)

server.tool(
  'big_once',
  {
    description: 'Does something whose result cannot be stored',
    task: { retries: 3 },
    inputSchema: z.object({ key: z.string(), of: z.enum(['bigint', 'text']) }),
  },
  async ({ key, of }, ctx) => {
    try {
      await ctx.once('charge', () => {
        count(key)
        return of === 'bigint' ? 1n : 'ж'.repeat(1_200_000)
      })
    } catch {
      await ctx.once('more', () => count(key))
    }
    return 'done'
  },
)

server.tool('chatty', { description: 'Says a lot on the way', task: true }, async (_, ctx) => {
  ctx.progress(1, 2, 'ж'.repeat(2_000_000))
  return 'done'
})

server.tool(
  'doomed',
  { description: 'Loses its object each time', task: true, inputSchema: z.object({ key: z.string() }) },
  async ({ key }) => {
    count(key)
    return abandon()
  },
)

server.tool(
  'even',
  { description: 'Asks for an even number', task: true, inputSchema: z.object({ key: z.string() }) },
  async ({ key }, ctx) => {
    await ctx.once('charge', () => count(key))
    const even = z.object({ number: z.number().refine((number) => number % 2 === 0, 'must be even') })
    const answer = await ctx.elicit('number', 'Which?', even)
    return `${answer.content?.number}, charged ${tries.get(key)} time`
  },
)

server.tool(
  'nested',
  { description: 'Has an effect within an effect', task: { retries: 1 }, inputSchema: z.object({ key: z.string() }) },
  async ({ key }, ctx) =>
    ctx.once('outer', async () => {
      const inner = await ctx.once('inner', () => count(key))
      if (count(`${key} outer`) === 1) throw new Error('The outer effect fails once')
      return `inner ${inner}, outer ${tries.get(`${key} outer`)}`
    }),
)

server.tool(
  'branches',
  { description: 'Two branches that sleep', task: true, inputSchema: z.object({ key: z.string() }) },
  async ({ key }, ctx) => {
    const branch = async (name: string, lookUpMs: number, hours: number) => {
      await ctx.once(`${name} looked up`, () => new Promise<void>((resolve) => setTimeout(resolve, lookUpMs)))
      await ctx.sleep(name, `${hours}h`)
      await ctx.once(`${name} woke`, () => count(`${key} ${name}`))
    }
    await Promise.all([branch('long', 200, 5), branch('short', 0, 1)])
    return 'both'
  },
)

server.tool(
  'misslept',
  { description: 'Sleeps where it may not', task: true, inputSchema: z.object({ how: z.string() }) },
  async ({ how }, ctx) => {
    if (how === 'inside') return ctx.once('poll', () => ctx.sleep('pause', '1h'))
    if (how === 'twice') await Promise.all([ctx.sleep('pause', '1ms'), ctx.sleep('pause', '2ms')])
    if (how === 'without a key') await (ctx.sleep as unknown as (duration: string) => Promise<void>)('1h')
    if (how === 'no moment') await ctx.sleepUntil('pause', new Date('never'))
    return 'slept'
  },
)

server.tool(
  'later_inside',
  { description: 'Sleeps in the middle of an effect', task: true, inputSchema: z.object({ key: z.string() }) },
  async ({ key }, ctx) =>
    ctx.once('poll', async () => {
      count(key)
      await new Promise((resolve) => setTimeout(resolve, 10))
      await ctx.sleep('pause', '11s')
      return 'polled'
    }),
)

server.tool(
  'mixed',
  { description: 'Sleeps for a second and for an hour', task: true, inputSchema: z.object({ key: z.string() }) },
  async ({ key }, ctx) => {
    const short = ctx.sleep('second', '1s').then(() => ctx.once('second', () => count(key)))
    await Promise.all([short, ctx.sleep('hour', '1h')])
    return 'both'
  },
)

server.tool(
  'approvals',
  {
    description: 'Asks three times',
    task: { answerWithin: '10s', ttl: '1s' },
    inputSchema: z.object({ key: z.string() }),
  },
  async ({ key }, ctx) => {
    for (const name of ['one', 'two', 'three']) {
      await ctx.elicit(name, `${name}?`, form)
      await ctx.once(`did ${name}`, () => count(key))
    }
    return `${tries.get(key)} approvals`
  },
)

server.tool(
  'lossy_once',
  {
    description: 'Does something whose result is no JSON',
    task: { retries: 3 },
    inputSchema: z.object({ key: z.string(), of: z.enum(['map', 'nan', 'function']) }),
  },
  async ({ key, of }, ctx) => {
    await ctx.once('charge', () => {
      count(key)
      return { map: new Map([[1, 2]]), nan: { n: Number.NaN }, function: () => 1 }[of] as never
    })
    return 'done'
  },
)

const released = new Set<string>()

server.tool(
  'ignores_signal',
  { description: 'Ignores ctx.signal', task: { answerWithin: '100ms' }, inputSchema: z.object({ key: z.string() }) },
  async ({ key }) => {
    count(key)
    while (!released.has(key)) await new Promise<void>((resolve) => setTimeout(resolve, 20))
    count(`${key} over`)
    return 'done'
  },
)

server.tool(
  'release',
  { description: 'Ends ignores_signal', inputSchema: z.object({ key: z.string() }) },
  ({ key }) => {
    released.add(key)
    return 'released'
  },
)

server.tool('tried', { description: 'How often', inputSchema: z.object({ key: z.string() }) }, ({ key }) =>
  String(tries.get(key) ?? 0),
)

/** Waits for ever in an object that is lost in a moment. */
let abandon = (): Promise<never> => Promise.reject(new Error('No object is running'))

const worker = serve(server, {
  // A task has a limit of its own.
  limits: { maxResultBytes: 64 * 1024 * 1024 },
  auth: {
    allowAnonymous: true,
    async authenticate(request) {
      const subject = request.headers.get('Authorization')
      return subject ? { issuer: 'https://names.example', subject, scopes: [], claims: {} } : undefined
    },
  },
  plugins: [sessions(), subscriptions(), tasks()],
})

export const { McpSession, McpSubscriptions } = worker

/** An object with other members in the place of some of its own. */
function instead<T extends object>(target: T, members: Record<string, unknown>): T {
  const get = (_: T, name: string) => {
    const value = members[name] ?? target[name as keyof T]
    return typeof value === 'function' ? value.bind(target) : value
  }
  return new Proxy(target, { get } as ProxyHandler<T>)
}

/** Production takes no value of more than 2 MB; the local runtime does. */
function stored<T>(value: T): T {
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? null)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: Latin-1, of which a character takes one byte
  const bytes = /^[\u0000-\u00ff]*$/.test(text) ? text.length : text.length * 2
  if (bytes > 2_000_000) throw new Error(`A value of ${bytes} bytes is too large for this storage`)
  return value
}

/** Whether the storage refuses to list a task. */
let refusesLists = false

/** Every second call that says who listens to a task is lost. */
let losesWatch = false

/** Whether a task that waits for input holds the answers to who waits for it, and how many it holds. */
let holdsQuestions = false
let held = 0

export class McpTask extends worker.McpTask {
  readonly #released = Promise.withResolvers<void>()

  constructor(state: DurableObjectState, env: never) {
    const { storage } = state
    const setAlarm = (time: number) => storage.setAlarm(time - ahead)
    const { kv, sql } = storage
    const put = (key: string, value: unknown) => kv.put(key, stored(value))
    const exec = (query: string, ...bindings: unknown[]) => {
      if (refusesLists && query.startsWith('INSERT INTO tasks')) throw new Error('The storage is full')
      return sql.exec(query, ...bindings.map(stored))
    }
    const own: Record<string, unknown> = { setAlarm, kv: instead(kv, { put }), sql: instead(sql, { exec }) }
    Object.defineProperty(state, 'storage', { value: instead(storage, own) })
    super(state, env)
  }

  override alarm(): Promise<void> {
    abandon = () => {
      this.ctx.abort('lost')
      return new Promise<never>(() => {})
    }
    return super.alarm()
  }

  override watch(shard: number) {
    losesWatch = !losesWatch
    if (losesWatch) throw new Error('Network connection lost.')
    return super.watch(shard)
  }

  override async settled() {
    const view = await super.settled()
    if (!holdsQuestions || !view?.inputRequests) return view
    held += 1
    await this.#released.promise
    return view
  }

  release(): void {
    this.#released.resolve()
  }

  /** Runs its alarm, as if it were time. */
  ring(): Promise<void> {
    return this.alarm()
  }

  async left(): Promise<{ keys: string[]; alarm: boolean }> {
    const { kv } = this.ctx.storage
    return { keys: [...kv.list()].map(([key]) => key), alarm: (await this.ctx.storage.getAlarm()) !== null }
  }

  /** Milliseconds until its next alarm; 0 without one. */
  async untilAlarm(): Promise<number> {
    const at = await this.ctx.storage.getAlarm()
    return at === null ? 0 : at - realNow()
  }
}

type Stub = { ring(): Promise<void>; release(): Promise<void>; left(): Promise<unknown>; untilAlarm(): Promise<number> }
const exported = exports as unknown as { McpTask: { getByName(name: string): Stub } }

export default {
  async fetch(request: Request, env: unknown, ctx: ExecutionContext): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname === '/mcp' || pathname === '/sse' || pathname === '/messages') return worker.fetch(request, env, ctx)
    const object = () => exported.McpTask.getByName(`task ${searchParams.get('name')}`)
    try {
      if (pathname === '/left') return Response.json(await object().left())
      if (pathname === '/until-alarm') return Response.json({ ms: await object().untilAlarm() })
      if (pathname === '/hold-questions') {
        holdsQuestions = searchParams.get('on') === 'true'
        if (searchParams.has('name')) await object().release()
        return Response.json({ held })
      }
      if (pathname === '/refuse-lists') {
        refusesLists = searchParams.get('on') === 'true'
        return Response.json({})
      }
      ahead += Number(searchParams.get('by'))
      if (searchParams.has('name')) await object().ring()
      return Response.json({})
    } catch (problem) {
      return new Response(String((problem as Error).stack), { status: 500 })
    }
  },
}
