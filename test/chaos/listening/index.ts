/**
 * A server of things that change, with three Subscriptions objects. `KEEP_ALIVE` of its environment: milliseconds between
 * comments on a stream.
 *
 * `POST /publish?change=<tools, prompts, resources or a URI>` announces a change. `GET /objects/McpSubscriptions/<name>` answers
 * with a `Holding`. `POST` of it does something to the object first: `?do=abort` it is lost at once, `?do=age` what it has
 * logged is six minutes older and its alarm due; `/objects/McpSession/<name>` can be lost as well.
 */
import { env, exports } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { subscriptions } from 'edgemcp/subscriptions'
import type { Holding } from './holding.ts'
import { ttl } from './ttl.ts'

const server = createServer({ name: 'listening', version: '1.0.0' })
server.tool('nothing', { description: 'Does nothing' }, () => 'done')
server.prompt('nothing', { description: 'Says nothing' }, () => 'nothing')
server.resource('page://{id}', { name: 'page', description: 'A page' }, ({ id }) => `page ${id}`)
server.resource('note://{id}', { name: 'note', description: 'A note' }, ({ id }) => `note ${id}`)

const { KEEP_ALIVE = '500' } = env as { KEEP_ALIVE?: string }
const worker = serve(server, {
  limits: { keepAliveMs: Number(KEEP_ALIVE) },
  sessions: { ttl },
  plugins: [subscriptions({ shards: 3, listenersPerAddress: 10_000 })],
})

export class McpSession extends worker.McpSession {
  lose(): void {
    this.ctx.abort('lost')
  }
}

export class McpSubscriptions extends worker.McpSubscriptions {
  readonly #instance = crypto.randomUUID()

  lose(): void {
    this.ctx.abort('lost')
  }

  async holding(): Promise<Holding> {
    const { sql } = this.ctx.storage
    const rows = <Row extends Record<string, SqlStorageValue>>(table: string, columns: string) => {
      const exists = sql.exec('SELECT 1 FROM sqlite_master WHERE name = ?', table).toArray().length > 0
      return exists ? sql.exec<Row>(`SELECT ${columns} FROM ${table}`).toArray() : []
    }
    const changes = rows<{ at: number | null }>('changes', 'at')
    const now = Date.now()
    return {
      instance: this.#instance,
      sockets: this.ctx.getWebSockets().length,
      sessions: rows<{ session: string }>('subscriptions', 'DISTINCT session').map(({ session }) => session),
      changes: changes.length,
      // The newest one stays.
      oldest: changes.length > 1 ? now - Math.min(...changes.map(({ at }) => at ?? now)) : 0,
      alarm: await this.ctx.storage.getAlarm(),
    }
  }

  async age(): Promise<void> {
    const { sql } = this.ctx.storage
    if (sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'changes'").toArray().length === 0) return
    sql.exec('UPDATE changes SET at = at - 360000')
    if ((await this.ctx.storage.getAlarm()) !== null) await this.ctx.storage.setAlarm(Date.now())
  }
}

type Objects = {
  McpSession: { getByName(name: string): { lose(): Promise<void> } }
  McpSubscriptions: {
    getByName(name: string): { lose(): Promise<void>; age(): Promise<void>; holding(): Promise<Holding> }
  }
}
const objects = exports as unknown as Objects

async function publish(change: string): Promise<void> {
  if (change === 'tools' || change === 'prompts' || change === 'resources') return server.notify[`${change}Changed`]()
  return server.notify.resourceUpdated(change)
}

export default {
  async fetch(request: Request, env: unknown, ctx: ExecutionContext): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname === '/publish') {
      await publish(searchParams.get('change') as string)
      return new Response(null, { status: 204 })
    }
    const [, kind, name = ''] = /^\/objects\/(\w+)\/(.+)$/.exec(decodeURIComponent(pathname)) ?? []
    if (!kind) return worker.fetch(request, env, ctx)
    if (searchParams.get('do') === 'abort') {
      const object =
        kind === 'McpSession' ? objects.McpSession.getByName(name) : objects.McpSubscriptions.getByName(name)
      // Nobody is left who could answer.
      await object.lose().catch(() => {})
      return new Response(null, { status: 204 })
    }
    try {
      const object = objects.McpSubscriptions.getByName(name)
      if (searchParams.get('do') === 'age') await object.age()
      return Response.json(await object.holding())
    } catch (problem) {
      return new Response(String(problem), { status: 500 })
    }
  },
}
