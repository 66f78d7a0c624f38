/** A server whose sessions expire after an idle second, at two paths: with `sessions.revive` and without. */
import { createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { type Store, state } from 'edgemcp/state'
import { subscriptions } from 'edgemcp/subscriptions'
import * as z from 'zod'

const server = createServer({ name: 'revived', version: '1.0.0' })
const list = state('list', { per: 'session' }, (store: Store<Record<string, string>>) => ({
  add: (item: string) => store.put(item, item),
  all: () => store.entries().map(([, item]) => item),
}))
server.tool('add', { description: 'Adds an item', inputSchema: z.object({ item: z.string() }) }, ({ item }, ctx) =>
  ctx.state(list).add(item),
)
server.tool('all', { description: 'Lists the items' }, async (_, ctx) => (await ctx.state(list).all()).join())
server.tool('steps', { description: 'Sends progress' }, (_, ctx) => {
  ctx.progress(1, 2)
  return 'done'
})
server.resource('note://{id}', { description: 'A note' }, ({ id }) => id)

const worker = serve(server, { plugins: [sessions({ ttl: '1s' }), subscriptions()] })
const strict = serve(server, {
  path: '/strict/mcp',
  plugins: [sessions({ ttl: '1s', revive: false }), subscriptions()],
})

/** Returns the keys of what a session stores. */
export class McpSession extends worker.McpSession {
  stored(): string[] {
    return [...this.ctx.storage.kv.list()].map(([key]) => key).filter((key) => key !== 'schema')
  }
}
export const { McpSubscriptions } = worker
export { McpState } from 'edgemcp/state'

export default {
  fetch(request, env, ctx) {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname.startsWith('/strict/')) return strict.fetch(request, env, ctx)
    if (pathname !== '/stored') return worker.fetch(request, env, ctx)
    const { McpSession: sessions } = ctx.exports as unknown as { McpSession: DurableObjectNamespace<McpSession> }
    return sessions
      .getByName(String(searchParams.get('name')))
      .stored()
      .then(Response.json)
  },
} satisfies ExportedHandler
