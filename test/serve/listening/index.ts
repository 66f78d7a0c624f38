/**
 * A server with three Subscriptions objects. `POST /publish?uri=<a URI>` announces a change. `GET /objects/<name>` answers with the sockets of a
 * Subscriptions object, and its instance: another one after the object was evicted or lost. `POST` of it loses the object at once.
 */
import { exports } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'

const server = createServer({ name: 'listening', version: '1.0.0' })
server.resource('page://{id}', { name: 'page', description: 'A page' }, ({ id }) => `page ${id}`)

const worker = serve(server, {
  limits: { keepAliveMs: 600_000 },
  plugins: [sessions(), subscriptions({ shards: 3, listenersPerAddress: 10_000 })],
})

export const { McpSession } = worker

export class McpSubscriptions extends worker.McpSubscriptions {
  readonly #instance = crypto.randomUUID()

  lose(): void {
    this.ctx.abort('lost')
  }

  inventory() {
    return { instance: this.#instance, sockets: this.ctx.getWebSockets().length }
  }
}

const objects = exports as unknown as { McpSubscriptions: DurableObjectNamespace<McpSubscriptions> }

export default {
  async fetch(request: Request, env: unknown, ctx: ExecutionContext): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    const [, name] = /^\/objects\/(.+)$/.exec(decodeURIComponent(pathname)) ?? []
    const object = name === undefined ? undefined : objects.McpSubscriptions.getByName(name)
    if (object && request.method === 'GET') return Response.json(await object.inventory())
    if (object) {
      // Nobody is left who could answer.
      await object.lose().catch(() => {})
    } else if (pathname === '/publish') {
      await server.notify.resourceUpdated(String(searchParams.get('uri')))
    } else {
      return worker.fetch(request, env, ctx)
    }
    return new Response(null, { status: 204 })
  },
}
