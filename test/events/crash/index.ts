/** The Worker of the crash test: users of tenants subscribe to records by topic. A token is the JSON of its user. */
import { env, exports } from 'cloudflare:workers'
import { type Auth, createServer, type Principal, serve } from 'edgemcp'
import { event, events } from 'edgemcp/events'
import * as z from 'zod'
import { pass, takeOver } from '../../../worker/testing/clock.ts'

takeOver()

const recordSaved = event('record.saved', {
  description: 'A record was saved',
  inputSchema: z.object({ topic: z.string() }),
  payloadSchema: z.object({ number: z.number(), topic: z.string() }),
  matches: ({ topic }, record) => record.topic === topic || record.topic === '*',
})

const auth: Auth = {
  authenticate: async ({ headers }) => {
    const token = headers.get('Authorization')?.slice('Bearer '.length)
    return token === undefined ? undefined : { issuer: 'https://directory.example', scopes: [], ...JSON.parse(token) }
  },
  // The directory knows who is revoked.
  reauthorize: async (principal: Principal) => {
    const path = [principal.tenant ?? '', principal.subject].map(encodeURIComponent).join('/')
    const { status } = await fetch(`https://directory.example/${path}`)
    if (status === 404) return undefined
    if (status !== 200) throw new Error(`The directory answers ${status}`)
    return principal
  },
}

const worker = serve(createServer({ name: 'crash', version: '1' }), {
  auth,
  plugins: [events([recordSaved], { timeout: Number(Object(env).TIMEOUT_MS) })],
})

/** Objects that this process has started, by id. */
const running = new Set<string>()

export class McpEvents extends worker.McpEvents {
  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env)
    running.add(String(ctx.id))
  }

  restart(): void {
    this.ctx.abort('This object is restarted')
  }

  /** Runs the alarm until none is set. Returns how often. */
  async ring(): Promise<number> {
    for (let count = 0; count < 10; count += 1) {
      if ((await this.ctx.storage.getAlarm()) === null) return count
      await this.ctx.storage.deleteAlarm()
      await this.alarm()
    }
    throw new Error('The alarm of an object that has nothing to do is set again and again')
  }
}

const objects = () => {
  // The class above has this name.
  const namespace = (exports as unknown as { McpEvents: DurableObjectNamespace<McpEvents> }).McpEvents
  return (id: string) => namespace.get(namespace.idFromString(id))
}

async function publish(request: Request): Promise<Response> {
  const { payload, recipients, options } = (await request.json()) as {
    payload: never
    recipients: never
    options: object
  }
  return Response.json(await recordSaved.publish(payload, recipients, options))
}

/** Restarts a share of the objects. */
async function restart(share: number): Promise<Response> {
  const ids = [...running].filter(() => Math.random() < share)
  const object = objects()
  for (const id of ids) running.delete(id)
  await Promise.all(ids.map((id) => Promise.resolve(object(id).restart()).catch(() => {})))
  return Response.json(ids.length)
}

/** Moves the clock of this process, and runs the alarms of objects. */
async function age(request: Request): Promise<Response> {
  const { days, ids } = (await request.json()) as { days: number; ids: readonly string[] }
  await pass(days * 86_400_000, async () => [])
  const object = objects()
  await Promise.all(ids.map((id) => object(id).ring()))
  return Response.json({})
}

export default {
  async fetch(request: Request, env: unknown, ctx: ExecutionContext): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname === '/publish') return publish(request)
    if (pathname === '/restart') return restart(Number(searchParams.get('share')))
    if (pathname === '/age') return age(request)
    return worker.fetch(request, env, ctx)
  },
}
