import { createServer, serve } from 'edgemcp'
import { bearer } from 'edgemcp/auth'
import { jsonSchema } from 'edgemcp/json-schema'
import { sessions } from 'edgemcp/sessions'
import * as z from 'zod'

const Numbers = z.object({ a: z.number(), b: z.number() })
const Celsius = { type: 'object', properties: { celsius: { type: 'number' } }, required: ['celsius'] } as const
const Fahrenheit = { type: 'object', properties: { fahrenheit: { type: 'number' } }, required: ['fahrenheit'] } as const
const Item = z.object({ item: z.string() })
const Amount = z.object({ amount: z.int().min(1) })
const Topic = z.object({ topic: z.string() })

const server = createServer({ name: 'desk', version: '1.0.0', jsonSchema })
server.tool('add', { description: 'Adds two numbers', inputSchema: Numbers }, ({ a, b }) => String(a + b))
const schemas = { inputSchema: Celsius, outputSchema: Fahrenheit }
server.tool('convert', { description: 'Converts a temperature', ...schemas }, ({ celsius }) => {
  return { fahrenheit: celsius * 1.8 + 32 }
})
server.tool('break', { description: 'Goes wrong' }, () => {
  throw new Error('The desk is on fire.')
})
server.tool('order', { description: 'Orders something', inputSchema: Item }, async ({ item }, ctx) => {
  const answer = await ctx.elicit('amount', `How many of ${item}?`, Amount)
  return answer.action === 'accept' ? `Ordered ${answer.content.amount} of ${item}.` : 'Nothing was ordered.'
})
server.tool('roots', { description: 'Lists the folders of the client' }, (_, ctx) => {
  const answer = ctx.inputResponse('roots')
  if (!answer?.roots) return ctx.requestInput({ roots: { method: 'roots/list', params: {} } })
  return answer.roots.map(({ uri }) => uri).join(', ')
})
server.tool('whoami', { description: 'Says who asks' }, (_, ctx) => ctx.principal?.subject)
server.tool('quiet', { description: 'Says whether it was called off' }, (_, ctx) => {
  return { content: [{ type: 'text', text: ctx.signal.aborted ? 'yes' : 'no' }] }
})
server.tool('progress', { description: 'Says how far it is' }, (_, ctx) => {
  ctx.progress(1, 2, 'half')
  ctx.progress(2, 2, 'done')
  return 'Done'
})
server.tool('log', { description: 'Writes a line' }, (_, ctx) => {
  ctx.log('info', 'Written')
  return 'Done'
})
server.resource('desk://readme', { name: 'readme', description: 'What this is' }, () => 'A desk.')
const notes = {
  list: () => [{ id: '1', name: 'First' }],
  complete: { id: (prefix: string) => ['1', '12'].filter((id) => id.startsWith(prefix)) },
}
server.resource('desk://notes/{id}', { name: 'note', description: 'A note', ...notes }, ({ id }) => `Note ${id}`)
const complete = { topic: (prefix: string) => ['1st', '2nd'].filter((topic) => topic.startsWith(prefix)) }
server.prompt(
  'review',
  { description: 'Asks for a review', argsSchema: Topic, complete },
  ({ topic }) => `Review ${topic}.`,
)

const auth = bearer({
  verify: (token) => (token === 'ada' ? { iss: 'https://mcp.example.com', sub: token } : undefined),
})
const worker = serve(server, { auth, plugins: [sessions()] })
export default worker
export const { McpSession } = worker
