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
  durableObjects: { names: { McpSession: 'StrictSession', McpSubscriptions: 'StrictSubscriptions' } },
})

/** Returns the keys of what a session stores. */
const keysOf = (storage: DurableObjectStorage) =>
  [...storage.kv.list()].map(([key]) => key).filter((key) => key !== 'schema')
export class McpSession extends worker.McpSession {
  stored(): string[] {
    return keysOf(this.ctx.storage)
  }
}
export class StrictSession extends strict.McpSession {
  stored(): string[] {
    return keysOf(this.ctx.storage)
  }
}
export const { McpSubscriptions } = worker
export const { McpSubscriptions: StrictSubscriptions } = strict
export { McpState } from 'edgemcp/state'

export default {
  fetch(request, env, ctx) {
    const { pathname, searchParams } = new URL(request.url)
    const isStrict = pathname.startsWith('/strict/')
    if (!pathname.endsWith('/stored')) return (isStrict ? strict : worker).fetch(request, env, ctx)
    type Sessions = DurableObjectNamespace<McpSession | StrictSession>
    const classes = ctx.exports as unknown as { McpSession: Sessions; StrictSession: Sessions }
    return classes[isStrict ? 'StrictSession' : 'McpSession']
      .getByName(String(searchParams.get('name')))
      .stored()
      .then(Response.json)
  },
} satisfies ExportedHandler
