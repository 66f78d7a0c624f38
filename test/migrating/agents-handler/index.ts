import { createServer, serve } from 'edgemcp'
import { oauthProvider } from 'edgemcp/auth'
import { sessions } from 'edgemcp/sessions'
import * as z from 'zod'
import { withProps } from '../props.ts'

const Numbers = z.object({ a: z.number(), b: z.number() })
const Item = z.object({ item: z.string() })
const Amount = z.object({ amount: z.int().min(1) })
const Text = z.object({ text: z.string() })
const Topic = z.object({ topic: z.string() })

let tickets = 0

const server = createServer({ name: 'desk', version: '1.0.0' })
server.tool('add', { description: 'Adds two numbers', inputSchema: Numbers }, ({ a, b }) => String(a + b))
server.tool('order', { description: 'Orders something', inputSchema: Item }, async ({ item }, ctx) => {
  const answer = await ctx.elicit('amount', `How many of ${item}?`, Amount)
  return answer.action === 'accept' ? `Ordered ${answer.content.amount} of ${item}.` : 'Nothing was ordered.'
})
server.tool('summarize', { description: 'Says it shorter', inputSchema: Text }, ({ text }, ctx) => {
  const answer = ctx.inputResponse('summary')
  if (!answer) {
    const messages = [{ role: 'user', content: { type: 'text', text } }]
    return ctx.requestInput({ summary: { method: 'sampling/createMessage', params: { messages, maxTokens: 100 } } })
  }
  const [said] = [answer.content].flat()
  return said?.type === 'text' ? said.text : ''
})
server.tool('ticket', { description: 'Draws a number for a folder' }, async (_, ctx) => {
  const number = await ctx.once('number', () => ++tickets)
  const [root] = await ctx.roots()
  return `Number ${number} for ${root?.uri}`
})
server.tool('whoami', { description: 'Says who asks' }, (_, ctx) => ctx.principal?.subject)
server.resource('desk://readme', { name: 'readme', description: 'What this is' }, () => 'A desk.')
server.resource('desk://notes/{id}', { name: 'note', description: 'A note' }, ({ id }) => `Note ${id}`)
server.prompt('review', { description: 'Asks for a review', argsSchema: Topic }, ({ topic }) => `Review ${topic}.`)

const auth = oauthProvider(({ user }: { user: string }, { clientId }: { clientId?: string }) => ({
  issuer: 'https://mcp.example.com',
  subject: user,
  client: clientId,
  scopes: [],
  claims: {},
}))
const worker = serve(server, {
  auth,
  path: '/desk',
  origins: ['https://app.example.com'],
  hosts: ['desk.example.com'],
  plugins: [sessions()],
})
export default withProps(worker)
export const { McpSession } = worker
