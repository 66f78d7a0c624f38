import { createServer, serve } from 'edgemcp'
import * as z from 'zod'

const server = createServer({ name: 'desk', version: '1.0.0' })

const Numbers = z.object({ a: z.number(), b: z.number() })
server.tool('add', { description: 'Adds two numbers', input: Numbers }, ({ a, b }) => String(a + b))

const Item = z.object({ item: z.string() })
const Amount = z.object({ amount: z.int().min(1) })
server.tool('order', { description: 'Orders something', input: Item }, async ({ item }, ctx) => {
  const answer = await ctx.elicit('amount', `How many of ${item}?`, Amount)
  return answer.action === 'accept' ? `Ordered ${answer.content.amount} of ${item}.` : 'Nothing was ordered.'
})

server.resource('desk://readme', { name: 'readme', description: 'What this is' }, () => 'A desk.')
server.resource('desk://notes/{id}', { name: 'note', description: 'A note' }, ({ id }) => `Note ${id}`)

const Topic = z.object({ topic: z.string() })
server.prompt('review', { description: 'Asks for a review', args: Topic }, ({ topic }) => `Review ${topic}.`)

const worker = serve(server)
export default worker
export const { McpSession, McpUpdates } = worker
