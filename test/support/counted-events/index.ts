/**
 * A server whose users subscribe to events, and which counts what this costs. A user is `Authorization`. Receivers are in this process: they
 * answer each challenge, and each event with 204. `/counted` returns the counts, and resets them. Requests to it are not counted.
 */
import { exports } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { type EventRecipients, event, events } from 'edgemcp/events'
import * as z from 'zod'
import { putForward } from '../counted/clock.ts'
import { countCalls, countStorage } from '../counted/counting.ts'
import { noTally, type Tally } from '../counted/tally.ts'

const issuer = 'https://names.example'
const saved = event('note.saved', { payloadSchema: z.object({ id: z.string() }) })

const worker = serve(createServer({ name: 'counted', version: '1.0.0' }), {
  auth: {
    async authenticate({ headers }) {
      return { issuer, subject: headers.get('Authorization') ?? '', tenant: 'acme', scopes: [], claims: {} }
    },
    reauthorize: (principal) => principal,
  },
  plugins: [events([saved])],
})

/** Requests to receivers. */
let posts = 0
/** Events that receivers answer with `failureStatus` before they answer with 204. */
let failures = 0
let failureStatus = 503
globalThis.fetch = async (_, init) => {
  posts += 1
  const { challenge } = JSON.parse(String(init?.body)) as { challenge?: string }
  if (challenge !== undefined) return Response.json({ challenge })
  const hasFailed = failures > 0
  if (hasFailed) failures -= 1
  return new Response(null, { status: hasFailed ? failureStatus : 204 })
}

/** The object of the event, and all others: those of users, and of the hosts of receivers. */
const tallies: Record<'index' | 'others', Tally> = { index: { ...noTally }, others: { ...noTally } }
let http = 0
/** Alarms that run. */
let running = 0
/** Names of the objects that were started. */
const names = new Set<string>()
/** Times of the alarms that are set, by the name of the object. */
const alarms = new Map<string, number>()

const tallyOf = (name: string) => (name.startsWith('event ') ? tallies.index : tallies.others)

export class McpEvents extends worker.McpEvents {
  readonly tally: Tally
  readonly #name: string
  readonly #storage: DurableObjectStorage
  #rung = () => {}

  constructor(state: DurableObjectState, env: never) {
    const { storage } = state
    const name = state.id.name ?? storage.kv.get<string>('name') ?? ''
    const tally = tallyOf(name)
    // A publication ends only with the alarms.
    super(
      countStorage(state, tally, (time) => alarms.set(name, time)),
      env,
    )
    this.#name = name
    this.#storage = storage
    this.tally = tally
    tally.woken += 1
    names.add(name)
  }

  /** Opens a stream: a request to the object, as a call is. */
  override fetch(request: Request): Promise<Response> {
    this.tally.calls += 1
    return super.fetch(request)
  }

  override async alarm(): Promise<void> {
    running += 1
    alarms.delete(this.#name)
    try {
      await super.alarm()
    } finally {
      running -= 1
      this.#rung()
    }
  }

  /** Runs its alarm. */
  async ring(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#rung = resolve
    await this.#storage.setAlarm(1)
    await promise
  }
}
countCalls(McpEvents, worker.McpEvents, ({ tally }: McpEvents) => tally)

function object(name: string): Pick<McpEvents, 'ring'> {
  const { McpEvents: objects } = exports as unknown as { McpEvents: DurableObjectNamespace<never> }
  return objects.getByName(name)
}

const minuteMs = 60_000

/** Returns the recipients that a test names: a user, all users of the tenant, or everyone. */
const recipientsOf = (name: string): EventRecipients =>
  name === 'everyone'
    ? { everyone: true as const }
    : name === 'tenant'
      ? { tenant: { issuer, tenant: 'acme' } }
      : userOf(name)

const userOf = (subject: string) => ({ user: { issuer, tenant: 'acme', subject } })

/** Subscribes users: each has a receiver of its own. */
async function subscribeAll(from: number, to: number): Promise<void> {
  const request = (user: number) => {
    const params = {
      name: 'note.saved',
      arguments: {},
      delivery: { mode: 'webhook', url: `https://host-${user}.example/`, secret: `whsec_${btoa('.'.repeat(32))}` },
      ttlMs: null,
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    }
    const headers = {
      Authorization: `user ${user}`,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': 'events/subscribe',
      'Mcp-Name': 'note.saved',
    }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'events/subscribe', params })
    return new Request('http://localhost/mcp', { method: 'POST', headers, body })
  }
  const context = { waitUntil() {}, passThroughOnException() {}, props: {} } as unknown as ExecutionContext
  let next = from
  const subscribe = async () => {
    while (next < to) {
      const response = await worker.fetch(request(next++), {}, context)
      const text = await response.text()
      if (!text.includes('refreshBefore')) throw new Error(`A user could not subscribe: ${response.status} ${text}`)
    }
  }
  await Promise.all(Array.from({ length: 20 }, subscribe))
}

/** Returns the names of the objects whose alarms are due. */
const due = (at = Date.now()) => [...alarms].flatMap(([name, time]) => (time <= at ? name : []))

/** Whether so many requests have reached receivers, and no object has anything left to do soon. */
const isOver = (count: number) => posts >= count && running === 0 && due(Date.now() + minuteMs).length === 0

const uncounted: Record<string, (query: URLSearchParams) => unknown> = {
  '/counted': () => {
    const counts = structuredClone({ http, posts, ...tallies, names: [...names] })
    for (const tally of Object.values(tallies)) Object.assign(tally, noTally)
    http = 0
    posts = 0
    return counts
  },
  '/counted/subscribe': (query) => subscribeAll(Number(query.get('from')), Number(query.get('to'))),
  '/counted/publish': async (query) => {
    failures = Number(query.get('failures') ?? 0)
    failureStatus = Number(query.get('status') ?? 503)
    await saved.publish({ id: '1' }, recipientsOf(query.get('to') ?? ''))
  },
  '/counted/redeliver': (query) => saved.redeliver(userOf(query.get('to') ?? '')),
  '/counted/over': (query) => isOver(Number(query.get('count'))),
  // Advances the clock, and runs the alarms that are due then.
  '/counted/later': async (query) => {
    putForward(Number(query.get('by')))
    const rung = due()
    await Promise.all(rung.map((name) => object(name).ring()))
    return rung.length
  },
}

export default {
  async fetch(request: Request, env: unknown, ctx: ExecutionContext): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    const answer = uncounted[pathname]
    if (answer) return Response.json((await answer(searchParams)) ?? null)
    http += 1
    return worker.fetch(request, env, ctx)
  },
}
