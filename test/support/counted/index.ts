/**
 * A server that counts what its clients would be billed for. `/counted` returns the counts; requests to it are not
 * counted. A Worker and its objects share one isolate on this machine.
 */
import { exports } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'
import * as z from 'zod'
import { keptBack, putForward } from './clock.ts'
import { countCalls, countStorage } from './counting.ts'
import { type Left, noTally, type Tallies } from './tally.ts'

const server = createServer({ name: 'counted', version: '1.0.0' })

server.tool('echo', { description: 'Says it back', inputSchema: z.object({ text: z.string() }) }, ({ text }) => text)

const Steps = z.object({ steps: z.number() })

server.tool('hurry', { description: 'Reports its steps at once', inputSchema: Steps }, ({ steps }, ctx) => {
  for (let step = 1; step <= steps; step++) ctx.progress(step, steps)
  return `${steps} steps`
})

let goOn = () => {}
server.tool('stroll', { description: 'Reports a step whenever it may', inputSchema: Steps }, async ({ steps }, ctx) => {
  for (let step = 1; step <= steps; step++) {
    const { promise, resolve } = Promise.withResolvers<void>()
    goOn = resolve
    ctx.progress(step, steps)
    await promise
  }
  return `${steps} steps`
})

server.tool('ask', { description: 'Asks who is there' }, async (_, ctx) => {
  const answer = await ctx.elicit('name', 'What is your name?', z.object({ name: z.string() }))
  return answer.action === 'accept' ? `Hello, ${answer.content.name}!` : 'Hello!'
})

const note = server.resource('note://{id}', { name: 'note', description: 'A note' }, ({ id }) => `note ${id}`)

const worker = serve(server, {
  // A slow machine must not turn a response into a stream.
  limits: { streamAfterMs: 600_000, keepAliveMs: 200 },
  auth: {
    async authenticate(request) {
      const subject = request.headers.get('Authorization') ?? 'ada'
      return { issuer: 'https://names.example', subject, scopes: [], claims: {} }
    },
  },
  plugins: [sessions(), subscriptions()],
})

const nothing = (): Tallies => ({
  http: 0,
  session: { ...noTally },
  subscriptions: { ...noTally },
  closed: 0,
  names: [],
})
const tallies = nothing()

export class McpSession extends worker.McpSession {
  readonly #storage: DurableObjectStorage
  #rung = () => {}

  constructor(state: DurableObjectState, env: never) {
    const { storage } = state
    super(countStorage(state, tallies.session), env)
    this.#storage = storage
    tallies.session.woken += 1
    tallies.names.push(state.id.name as string)
  }

  override async webSocketClose(socket: WebSocket, code: number): Promise<void> {
    await super.webSocketClose(socket, code)
    tallies.closed += 1
  }

  override async alarm(): Promise<void> {
    await super.alarm()
    this.#rung()
  }

  /** Lets a slow call continue, which only its own object can do. */
  goOn(): void {
    goOn()
  }

  /** Runs the alarm that is due. Returns false when there is none. */
  async ring(): Promise<boolean> {
    const time = await this.#storage.getAlarm()
    if (time === null || time - keptBack > Date.now()) return false
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#rung = resolve
    await this.#storage.setAlarm(1)
    await promise
    return true
  }

  async left(): Promise<Left> {
    const tables = this.#storage.sql.exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'")
    return {
      tables: [...tables].flatMap(({ name }) => (/^(_cf|sqlite)_/.test(name) ? [] : [name])),
      keys: [...this.#storage.kv.list()].map(([key]) => key),
      alarm: (await this.#storage.getAlarm()) !== null,
    }
  }
}

export class McpSubscriptions extends worker.McpSubscriptions {
  constructor(state: DurableObjectState, env: never) {
    super(countStorage(state, tallies.subscriptions), env)
    tallies.subscriptions.woken += 1
  }
}

countCalls(McpSession, worker.McpSession, tallies.session)
countCalls(McpSubscriptions, worker.McpSubscriptions, tallies.subscriptions)

function session(name: string): Pick<McpSession, 'goOn' | 'left' | 'ring'> {
  const { McpSession: sessions } = exports as unknown as { McpSession: DurableObjectNamespace<never> }
  return sessions.getByName(name)
}

const uncounted: Record<string, (query: URLSearchParams) => unknown> = {
  '/counted': () => tallies,
  '/counted/reset': () => {
    const { session, subscriptions, ...rest } = nothing()
    Object.assign(tallies.session, session)
    Object.assign(tallies.subscriptions, subscriptions)
    Object.assign(tallies, rest)
  },
  '/counted/left': (query) => session(query.get('session') as string).left(),
  '/counted/later': (query) => {
    putForward(Number(query.get('by')))
    const name = query.get('session')
    return name && session(name).ring()
  },
  '/counted/publish': (query) => note.updated({ id: query.get('note') as string }),
  '/counted/go': (query) => session(query.get('session') as string).goOn(),
}

export default {
  async fetch(request: Request, env: unknown, ctx: ExecutionContext): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    const answer = uncounted[pathname]
    if (answer) return Response.json((await answer(searchParams)) ?? null)
    tallies.http += 1
    return worker.fetch(request, env, ctx)
  },
}
