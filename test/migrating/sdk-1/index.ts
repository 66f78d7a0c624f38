import { env } from 'cloudflare:workers'
import { createServer, McpError, serve, toolError } from 'edgemcp'
import { bearer } from 'edgemcp/auth'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'
import * as z from 'zod'

const { ISSUER } = env as { ISSUER: string }

const written = new Map([['1', 'Note 1']])

const server = createServer({ name: 'desk', version: '1.0.0' })

const Numbers = z.object({ a: z.number(), b: z.number() })
server.tool('add', { description: 'Adds two numbers', inputSchema: Numbers }, ({ a, b }) => String(a + b))
server.tool('subtract', { description: 'Subtracts two numbers', inputSchema: Numbers }, ({ a, b }) => String(a - b))

const schemas = { inputSchema: z.object({ celsius: z.number() }), outputSchema: z.object({ fahrenheit: z.number() }) }
server.tool('convert', { description: 'Converts a temperature', ...schemas }, ({ celsius }) => {
  return { fahrenheit: celsius * 1.8 + 32 }
})

server.tool('fail', { description: 'Cannot do it' }, () => toolError('The desk is locked.'))

const Item = z.object({ item: z.string() })
const Amount = z.object({ amount: z.int().min(1) })
server.tool('order', { description: 'Orders something', inputSchema: Item }, async ({ item }, ctx) => {
  const answer = await ctx.elicit('amount', `How many of ${item}?`, Amount)
  return answer.action === 'accept' ? `Ordered ${answer.content.amount} of ${item}.` : 'Nothing was ordered.'
})

const Long = z.object({ text: z.string() })
server.tool('summarize', { description: 'Says it shorter', inputSchema: Long }, async ({ text }, ctx) => {
  return (await ctx.sample('summary', { prompt: text, maxTokens: 100 })).text
})

server.tool('roots', { description: 'Where the client works' }, async (_, ctx) => {
  return (await ctx.roots()).map(({ uri }) => uri).join()
})

server.tool('whoami', { description: 'Says who asks' }, (_, ctx) => String(ctx.principal?.subject))
server.tool('session', { description: 'Is there one?' }, (_, ctx) => (ctx.session ? 'yes' : 'no'))
server.tool('quiet', { description: 'Is nobody there?' }, (_, ctx) => (ctx.signal.aborted ? 'yes' : 'no'))

server.tool('progress', { description: 'Takes two steps' }, (_, ctx) => {
  ctx.progress(1, 2, 'half')
  ctx.progress(2, 2, 'done')
  return 'Done'
})

server.tool('log', { description: 'Writes a line' }, (_, ctx) => {
  ctx.log('info', 'Written')
  return 'Done'
})

const drawer = server.tool('drawer', { description: 'What is in it', enabled: false }, () => 'Paper')
server.tool('unlock', { description: 'Unlocks the drawer' }, async () => {
  await drawer.enable()
  return 'Unlocked'
})
server.tool('lock', { description: 'Locks the drawer' }, async () => {
  await drawer.disable()
  return 'Locked'
})
const broom = server.tool('broom', { description: 'Sweeps', enabled: true }, () => 'Swept')
server.tool('sweep', { description: 'Puts the broom away' }, async () => {
  await broom.disable()
  return 'Away'
})
server.tool('announce', { description: 'Says that the tools have changed' }, async () => {
  await server.notify.toolsChanged()
  return 'Announced'
})

server.resource('desk://readme', { name: 'readme', description: 'What this is' }, () => 'A desk.')

const note = server.resource(
  'desk://notes/{id}',
  {
    name: 'note',
    description: 'A note',
    list: () => [{ id: '1', name: 'First' }],
    complete: { id: (prefix) => ['1', '12'].filter((id) => id.startsWith(prefix)) },
  },
  ({ id }) => {
    if (id === '404') throw new McpError('invalid_params', 'There is no such note')
    return written.get(id) ?? `Note ${id}`
  },
)

const Edit = z.object({ id: z.string(), text: z.string() })
server.tool('edit', { description: 'Writes a note', inputSchema: Edit }, async ({ id, text }) => {
  written.set(id, text)
  await note.updated({ id })
  return 'Written'
})

server.prompt(
  'review',
  {
    description: 'Asks for a review',
    argsSchema: z.object({ topic: z.string() }),
    complete: { topic: (prefix) => ['1st draft', '2nd draft'].filter((topic) => topic.startsWith(prefix)) },
  },
  ({ topic }) => `Review ${topic}.`,
)

const worker = serve(server, { auth: bearer({ issuer: ISSUER }), plugins: [sessions(), subscriptions()] })
export default worker
export const { McpSession, McpSubscriptions } = worker
