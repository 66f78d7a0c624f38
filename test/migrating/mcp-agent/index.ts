import { createServer, serve } from 'edgemcp'
import { oauthProvider } from 'edgemcp/auth'
import { type Store, state } from 'edgemcp/state'
import * as z from 'zod'
import { withProps } from '../props.ts'

type Props = { user: string }

const server = createServer({ name: 'desk', version: '1.0.0' })

const Numbers = z.object({ a: z.number(), b: z.number() })
server.tool('add', { description: 'Adds two numbers', input: Numbers }, ({ a, b }) => String(a + b))

const Item = z.object({ item: z.string() })
const Amount = z.object({ amount: z.int().min(1) })
server.tool('order', { description: 'Orders something', input: Item }, async ({ item }, ctx) => {
  const answer = await ctx.elicit('amount', `How many of ${item}?`, Amount)
  return answer.action === 'accept' ? `Ordered ${answer.content.amount} of ${item}.` : 'Nothing was ordered.'
})

const counter = state('counter', { scope: 'session' }, (store: Store<{ count: number }>) => ({
  add() {
    const count = (store.get('count') ?? 0) + 1
    store.put('count', count)
    return count
  },
}))
server.tool('count', { description: 'Counts the calls of this session' }, async (_, ctx) => {
  return String(await ctx.state(counter).add())
})

server.tool('whoami', { description: 'Says who asks' }, (_, ctx) => ctx.principal?.subject ?? 'nobody')

server.resource('desk://readme', { name: 'readme', description: 'What this is' }, () => 'A desk.')
server.resource('desk://notes/{id}', { name: 'note', description: 'A note' }, ({ id }) => `Note ${id}`)

const Topic = z.object({ topic: z.string() })
server.prompt('review', { description: 'Asks for a review', args: Topic }, ({ topic }) => `Review ${topic}.`)

const auth = oauthProvider(({ user }: Props) => ({
  issuer: 'https://mcp.example.com',
  subject: user,
  scopes: [],
  claims: {},
}))
const worker = serve(server, { auth })
export default withProps(worker)
export const { McpSession, McpUpdates } = worker
export { McpState } from 'edgemcp/state'
