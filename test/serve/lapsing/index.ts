/** A server whose sessions are over after three idle seconds, and that tells who is registered for changes. */
import { createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'

const server = createServer({ name: 'lapsing', version: '1.0.0' })
server.resource('note://{id}', { description: 'A note' }, ({ id }) => id)

const worker = serve(server, { plugins: [sessions({ ttl: 3000 }), subscriptions()] })

export const { McpSession } = worker
export class McpSubscriptions extends worker.McpSubscriptions {
  registered(): { topic: string; session: string }[] {
    return this.ctx.storage.sql.exec<{ topic: string; session: string }>('SELECT * FROM subscriptions').toArray()
  }
}

export default {
  fetch(request, env, ctx) {
    if (new URL(request.url).pathname !== '/registered') return worker.fetch(request, env, ctx)
    const { McpSubscriptions: updates } = ctx.exports as unknown as {
      McpSubscriptions: DurableObjectNamespace<McpSubscriptions>
    }
    return updates.getByName('subscriptions 0').registered().then(Response.json)
  },
} satisfies ExportedHandler
