import { createServer, serve } from 'edgemcp'
import { page } from 'edgemcp/page'
import { sessions } from 'edgemcp/sessions'
import { type Store, state } from 'edgemcp/state'
import * as z from 'zod'

const server = createServer({ name: 'basket', title: 'Basket', version: '1.0.0', instructions: 'A small shop.' })

const prices: Record<string, number> = { bread: 3, milk: 1, tea: 5 }
const week = 7 * 24 * 60 * 60_000

const basket = state('basket', { per: 'handle', ttl: week }, (store: Store<Record<string, number>>) => ({
  add(item: string, count: number) {
    store.put(item, (store.get(item) ?? 0) + count)
    return store.entries()
  },
  items: () => store.entries(),
}))

const Basket = z.object({ basket: z.string().describe('The handle that new_basket returned') })

server.tool('new_basket', { description: 'Creates a basket, which expires a week after its last use.' }, (_, ctx) =>
  ctx.createHandle(basket),
)

server.tool(
  'add_to_basket',
  {
    description: 'Adds an item to a basket',
    inputSchema: Basket.extend({ item: z.enum(['bread', 'milk', 'tea']), count: z.int().positive().default(1) }),
  },
  async ({ basket: handle, item, count }, ctx) => written(await ctx.state(basket, handle).add(item, count)),
)

server.tool(
  'show_basket',
  { description: 'Lists the items in a basket', inputSchema: Basket, annotations: { readOnlyHint: true } },
  async ({ basket: handle }, ctx) => written(await ctx.state(basket, handle).items()),
)

server.tool(
  'check_out',
  {
    description: 'Orders the items in a basket, after the user confirms',
    inputSchema: Basket,
    annotations: { destructiveHint: true },
  },
  async ({ basket: handle }, ctx) => {
    const mine = ctx.state(basket, handle)
    // What is asked for is what is ordered, whatever is added meanwhile.
    const items = await ctx.once('items', () => mine.items())
    const answer = await ctx.elicit('sure', `Order this? ${written(items)}`, z.object({ sure: z.boolean() }))
    if (!answer.content?.sure) return 'Nothing was ordered.'
    await ctx.once('order', () => mine.deleteAll())
    return `Ordered: ${written(items)}`
  },
)

function written(items: readonly (readonly [item: string, count: number])[]): string {
  const total = items.reduce((sum, [item, count]) => sum + (prices[item] ?? 0) * count, 0)
  return items.length === 0
    ? 'The basket is empty.'
    : `${items.map(([item, count]) => `${count} ${item}`).join(', ')}: ${total}`
}

const worker = serve(server, { plugins: [sessions(), page()] })
export default worker
export const { McpSession } = worker
export { McpState } from 'edgemcp/state'
