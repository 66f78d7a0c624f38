import { InMemoryClientRequestAdapter, InMemorySessionAdapter, McpServer, StreamableHttpTransport } from 'mcp-lite'
import * as z from 'zod'

const server = new McpServer({
  name: 'desk',
  version: '1.0.0',
  schemaAdapter: (schema) => z.toJSONSchema(schema as z.ZodType),
})

server.tool('add', {
  description: 'Adds two numbers',
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  handler: ({ a, b }) => ({ content: [{ type: 'text', text: String(a + b) }] }),
})

server.tool('order', {
  description: 'Orders something',
  inputSchema: z.object({ item: z.string() }),
  handler: async ({ item }, ctx) => {
    const schema = { type: 'object', properties: { amount: { type: 'integer', minimum: 1 } }, required: ['amount'] }
    const answer = await ctx.elicit({ message: `How many of ${item}?`, schema })
    const amount = answer.action === 'accept' ? answer.content?.amount : undefined
    const text = amount === undefined ? 'Nothing was ordered.' : `Ordered ${amount} of ${item}.`
    return { content: [{ type: 'text', text }] }
  },
})

server.resource('desk://readme', { name: 'readme', description: 'What this is' }, async ({ href }) => {
  return { contents: [{ type: 'text', uri: href, text: 'A desk.' }] }
})
server.resource('desk://notes/{id}', { name: 'note', description: 'A note' }, async ({ href }, { id }) => {
  return { contents: [{ type: 'text', uri: href, text: `Note ${id}` }] }
})

server.prompt('review', {
  description: 'Asks for a review',
  arguments: z.object({ topic: z.string() }),
  handler: ({ topic }: { topic: string }) => {
    return { messages: [{ role: 'user', content: { type: 'text', text: `Review ${topic}.` } }] }
  },
})

const handle = new StreamableHttpTransport({
  sessionAdapter: new InMemorySessionAdapter({ maxEventBufferSize: 1024 }),
  clientRequestAdapter: new InMemoryClientRequestAdapter({ defaultTimeoutMs: 30_000 }),
}).bind(server)

export default {
  fetch: (request: Request): Promise<Response> => handle(request),
}
