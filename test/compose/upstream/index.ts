/** A server that others stand before. */
import { createServer, McpError, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import * as z from 'zod'

const server = createServer({ name: 'upstream', version: '1.0.0', pageSize: 2 })
let calls = 0
server.tool('echo', { description: 'Says it', inputSchema: z.object({ text: z.string() }) }, ({ text }) => text)
server.tool('who', { description: 'Who calls' }, (_, ctx) => `${ctx.principal?.subject} ${ctx.meta.traceparent ?? ''}`)
server.tool('asks', { description: 'Asks twice' }, async (_, ctx) => {
  const Name = z.object({ name: z.string() })
  await ctx.once('call', () => {
    calls += 1
  })
  const one = await ctx.elicit('name', 'Your name?', Name)
  const other = await ctx.elicit('other', 'Another?', Name)
  return `${one.content?.name} and ${other.content?.name}, ${calls}`
})
const Region = z.object({ region: z.string().meta({ 'x-mcp-header': 'Region' }), nearby: z.boolean().optional() })
server.tool('where', { description: 'Says a region', inputSchema: Region }, ({ region }) => region)
server.tool('refuses', { description: 'Refuses' }, () => {
  throw new McpError('invalid_params', 'Not so', { reason: 'test' })
})
server.tool('fails', { description: 'Fails' }, () => {
  throw new Error('It broke')
})

const Name = z.object({ name: z.string() })
server.prompt(
  'greet',
  {
    description: 'Greets',
    argsSchema: Name,
    complete: { name: (prefix) => ['Ada', 'Alan', 'Grace'].filter((name) => name.startsWith(prefix)) },
  },
  ({ name }) => `Greet ${name}`,
)
server.prompt('asks', { description: 'Asks for a name' }, async (_, ctx) => {
  const { content } = await ctx.elicit('name', 'Your name?', Name)
  return `Greet ${content?.name}`
})
server.prompt('plain', { description: 'Takes nothing' }, () => 'Greet')
server.resource('about:upstream', { name: 'about', description: 'About it' }, () => 'Newer')
server.resource('both://newer', { name: 'both', description: 'Another has a template for it' }, () => 'Newer')
server.resource('about:whoever', { name: 'whoever', description: 'Asks for a name' }, async (_, ctx) => {
  const { content } = await ctx.elicit('name', 'Your name?', Name)
  return `About ${content?.name}`
})
server.resource(
  'note://{id}',
  {
    name: 'note',
    description: 'A note',
    caching: { ttlMs: 1000, cacheScope: 'public' },
    list: () => [{ id: '1' }],
    complete: { id: () => ['1', '2'] },
  },
  ({ id }) => (Number(id) < 3 ? `Note ${id}` : undefined),
)

const worker = serve(server, {
  auth: {
    allowAnonymous: true,
    async authenticate(request) {
      const subject = request.headers.get('X-Name') ?? undefined
      return subject ? { issuer: 'https://names.example', subject, scopes: [], claims: {} } : undefined
    },
  },
  plugins: [sessions()],
})
export default worker
export const { McpSession } = worker
