/** A server that remembers, on which whoever says a name is that person: `Bearer <name>` or `Bearer <name>@<tenant>`. */
import { createServer, McpError, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { type Store, state } from 'edgemcp/state'
import * as z from 'zod'

const server = createServer({ name: 'stateful', version: '1.0.0' })

const list = (store: Store<Record<string, string>>) => ({
  add(item: string) {
    const count = store.entries().length + 1
    store.put(`item ${count}`, item)
    return count
  },
  all: () => store.entries().map(([, item]) => item),
})

const lists = {
  session: state('session_list', { per: 'session' }, list),
  user: state('user_list', { per: 'user', ttl: Number.POSITIVE_INFINITY }, list),
  tenant: state('tenant_list', { per: 'tenant', ttl: 60_000 }, list),
}
const basket = state('basket', { per: 'handle', ttl: 60_000 }, list)
const shortLived = state('short', { per: 'handle', ttl: 5000 }, list)

for (const scope of ['session', 'user', 'tenant'] as const) {
  server.tool(
    `add_to_${scope}`,
    { description: 'Adds', inputSchema: z.object({ item: z.string() }) },
    async ({ item }, ctx) => String(await ctx.state(lists[scope]).add(item)),
  )
  server.tool(`all_of_${scope}`, { description: 'Lists' }, async (_, ctx) =>
    (await ctx.state(lists[scope]).all()).join(),
  )
}
server.tool('forget_user', { description: 'Forgets the user' }, async (_, ctx) => ctx.state(lists.user).deleteAll())

for (const [name, which] of Object.entries({ basket, short: shortLived })) {
  const Handle = z.object({ handle: z.string() })
  server.tool(`new_${name}`, { description: 'Makes a handle' }, (_, ctx) => ctx.createHandle(which))
  server.tool(
    `add_to_${name}`,
    { description: 'Adds', inputSchema: Handle.extend({ item: z.string() }) },
    async ({ handle, item }, ctx) => String(await ctx.state(which, handle).add(item)),
  )
  server.tool(`all_of_${name}`, { description: 'Lists', inputSchema: Handle }, async ({ handle }, ctx) =>
    (await ctx.state(which, handle).all()).join(),
  )
  server.tool(`forget_${name}`, { description: 'Forgets it', inputSchema: Handle }, ({ handle }, ctx) =>
    ctx.state(which, handle).deleteAll(),
  )
}
server.resource('basket://{handle}', { description: 'A basket' }, async ({ handle }, ctx) =>
  (await ctx.state(basket, handle).all()).join(),
)

server.tool(
  'buy',
  { description: 'Asks, and remembers once', inputSchema: z.object({ item: z.string() }) },
  async ({ item }, ctx) => {
    const count = await ctx.once('add', () => ctx.state(lists.user).add(item))
    const answer = await ctx.elicit('sure', 'Sure?', z.object({ sure: z.boolean() }))
    return `${count} ${answer.action}`
  },
)

const ledger = state(
  'ledger',
  {
    per: 'user',
    ttl: '1m',
    tables: ['CREATE TABLE entries (amount INTEGER)', 'CREATE INDEX by_amount ON entries (amount)'],
  },
  (store: Store<{ balance: number }>) => ({
    move(amounts: number[]) {
      for (const amount of amounts) {
        store.put('balance', (store.get('balance') ?? 0) + amount)
        store.sql('INSERT INTO entries VALUES (?)', amount)
      }
      if ((store.get('balance') ?? 0) < 0) throw new McpError('invalid_params', 'Not enough', { balance: 'too low' })
      return store.get('balance')
    },
    entries: () =>
      store.sql<{ amount: number }>('SELECT amount FROM entries ORDER BY rowid').map(({ amount }) => amount),
  }),
)
server.tool(
  'move',
  { description: 'Moves', inputSchema: z.object({ amounts: z.array(z.number()) }) },
  async ({ amounts }, ctx) => String(await ctx.state(ledger).move(amounts)),
)
server.tool('entries', { description: 'Lists' }, async (_, ctx) => JSON.stringify(await ctx.state(ledger).entries()))

const prefs = state<{ theme: 'dark' | 'light' }>('prefs', { per: 'user', ttl: 60_000 })
server.tool(
  'prefer',
  { description: 'Sets', inputSchema: z.object({ theme: z.enum(['dark', 'light']) }) },
  async ({ theme }, ctx) => {
    const mine = ctx.state(prefs)
    await mine.put('theme', theme)
    return JSON.stringify(await mine.entries())
  },
)

const worker = serve(server, {
  auth: {
    async authenticate(request) {
      const [, subject, tenant] = /^Bearer (\w+)(?:@(\w+))?$/.exec(request.headers.get('Authorization') ?? '') ?? []
      if (!subject) throw new McpError('unauthorized', 'Say who you are')
      const client = request.headers.get('X-Client') ?? undefined
      return { issuer: 'https://names.example', subject, tenant, client, scopes: [], claims: {} }
    },
  },
  plugins: [sessions({ ttl: 6000 })],
})
export default worker
export const { McpSession } = worker
export { McpState } from 'edgemcp/state'
