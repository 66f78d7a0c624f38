import {
  InMemoryClientRequestAdapter,
  InMemorySessionAdapter,
  JSON_RPC_ERROR_CODES,
  McpServer,
  RpcError,
  StreamableHttpTransport,
} from 'mcp-lite'
import * as z from 'zod'
import { withProps } from '../props.ts'

type Props = { user: string }

const schemaAdapter = (schema: unknown) => z.toJSONSchema(schema as z.ZodType)
const server = new McpServer({ name: 'desk', version: '1.0.0', schemaAdapter })

server.use(async (ctx, next) => {
  const { name } = Object(ctx.request.params) as { name?: string }
  if (name === 'forbidden') throw new RpcError(JSON_RPC_ERROR_CODES.INVALID_PARAMS, 'Not at night.')
  await next()
})

class Broken extends Error {}
server.onError((error) => {
  return error instanceof Broken ? { code: JSON_RPC_ERROR_CODES.INVALID_PARAMS, message: error.message } : undefined
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

server.tool('asks', {
  description: 'Says whether it can ask',
  handler: (_, ctx) => ({ content: [{ type: 'text', text: ctx.client.supports('elicitation') ? 'yes' : 'no' }] }),
})

server.tool('progress', {
  description: 'Says how far it is',
  handler: async (_, ctx) => {
    await ctx.progress?.({ progress: 1, total: 2, message: 'half' })
    await ctx.progress?.({ progress: 2, total: 2, message: 'done' })
    return { content: [{ type: 'text', text: 'Done' }] }
  },
})

server.tool('session', {
  description: 'Says whether there is a session',
  handler: (_, ctx) => ({ content: [{ type: 'text', text: ctx.session?.id ? 'yes' : 'no' }] }),
})

server.tool('whoami', {
  description: 'Says who asks',
  handler: (_, ctx) => ({ content: [{ type: 'text', text: String(ctx.authInfo?.extra?.user) }] }),
})

server.tool('break', {
  description: 'Breaks',
  handler: () => {
    throw new Broken('Nothing is left to break.')
  },
})

server.tool('forbidden', {
  description: 'Works by day',
  handler: () => ({ content: [{ type: 'text', text: 'Done' }] }),
})

const git = new McpServer({ name: 'git', version: '1.0.0', schemaAdapter })
git.tool('git_commit', {
  description: 'Commits',
  inputSchema: z.object({ message: z.string() }),
  handler: ({ message }) => ({ content: [{ type: 'text', text: `Committed: ${message}` }] }),
})
server.group(git)

server.resource('desk://readme', { name: 'readme', description: 'What this is' }, async ({ href }) => {
  return { contents: [{ type: 'text', uri: href, text: 'A desk.' }] }
})
server.resource('desk://notes/{id}', { name: 'note', description: 'A note' }, async ({ href }, { id }) => {
  if (id === '404') throw new RpcError(-32002, 'There is no such note.', { uri: href })
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

export default withProps({
  fetch(request, _env, ctx) {
    return handle(request, { authInfo: { token: '', scopes: [], extra: ctx.props as Props } })
  },
})
