/** A server with one of everything that the inspector has a control for. */
import { createServer, serve } from 'edgemcp'
import { event, events } from 'edgemcp/events'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'
import { tasks } from 'edgemcp/tasks'
import * as z from 'zod'

const server = createServer({ name: 'inspected', title: 'Inspected', version: '1.0.0' })

server.tool(
  'shape',
  {
    title: 'Every kind of field',
    description: 'Says back what it was given',
    inputSchema: z.object({
      text: z.string().describe('Anything'),
      count: z.int().min(1),
      ratio: z.number().optional(),
      sure: z.boolean(),
      maybe: z.boolean().optional(),
      colour: z.enum(['red', 'green']),
      place: z.object({ street: z.string(), zip: z.int().optional() }),
      tags: z.array(z.string()),
      toppings: z.array(z.enum(['salt', 'sugar'])).optional(),
      either: z.union([z.object({ mail: z.string() }), z.object({ phone: z.string() })]).optional(),
      size: z.int().default(7),
    }),
    annotations: { readOnlyHint: true },
  },
  (input) => JSON.stringify(input),
)

server.tool('markup', { description: '<img src=x onerror=alert(1)>' }, () => [
  { type: 'text', text: '<script>alert(1)</script>' },
  { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' },
  { type: 'resource_link', uri: 'note://1', name: '<b>note</b>' },
])

server.tool('whoami', { description: 'Who asks' }, (_, { principal }) => principal?.subject ?? 'nobody')
server.tool('principal', { description: 'All that is known of who asks' }, (_, { principal }) =>
  JSON.stringify(principal),
)

server.tool('steps', { description: 'Takes three of four steps, and waits' }, (_, ctx) => {
  ctx.log('warning', { at: 'the start' }, 'steps')
  ctx.progress(3, 4, 'three are done')
  return new Promise<string>((resolve) => {
    ctx.signal.addEventListener('abort', () => {
      cancelled += 1
      resolve('cancelled')
    })
  })
})
let cancelled = 0
server.tool('cancelled', { description: 'How many were cancelled' }, () => String(cancelled))

server.tool('ask', { description: 'Asks twice' }, async (_, ctx) => {
  const first = await ctx.elicit(
    'name',
    'Who are you?',
    z.object({ name: z.string(), colour: z.enum(['red', 'green']).optional() }),
  )
  if (!first.content) return `No name: ${first.action}`
  const second = await ctx.elicit('sure', 'Really?', z.object({ sure: z.boolean() }))
  return `${first.content.name} ${first.content.colour} ${second.content?.sure ?? second.action}`
})

server.tool('ask_model', { description: 'Asks a model' }, async (_, ctx) => {
  const { text } = await ctx.sample('capital', { prompt: 'What is the capital of France?', maxTokens: 50 })
  return `The model says: ${text}`
})

server.tool('ask_roots', { description: 'Asks where the client works' }, async (_, ctx) =>
  (await ctx.roots()).map(({ uri }) => uri).join(' '),
)

server.tool('visit', { description: 'Sends a person to a page' }, async (_, ctx) => {
  const { action } = await ctx.elicitUrl('sign', 'Sign in', 'https://example.com/sign-in?flow=1')
  return `The page: ${action}`
})

let version = 0
const note = server.resource(
  'note://{id}',
  { name: 'note', title: 'Note', description: 'A note', list: () => [{ id: '1' }], complete: { id: () => ['1', '2'] } },
  ({ id }) => `note ${id}, version ${version}`,
)
server.resource('data://fixed', { name: 'fixed', description: 'A text' }, () => 'always the same')
server.tool('touch', { description: 'Changes note 1' }, async () => {
  version += 1
  await note.updated({ id: '1' })
  return 'touched'
})

server.prompt(
  'greet',
  {
    description: 'Greets',
    argsSchema: z.object({ name: z.string().describe('Whom') }),
    complete: { name: (prefix) => ['ada', 'alan', 'grace'].filter((name) => name.startsWith(prefix)) },
  },
  ({ name }) => `Greet ${name}.`,
)

const late = server.tool('late', { description: 'Comes later', enabled: false }, () => 'here')
server.tool('bring', { description: 'Brings another tool' }, async () => {
  await late.enable()
  return 'brought'
})

server.tool('brew', { description: 'Brews tea', task: { pollInterval: '50ms' } }, async (_, ctx) => {
  ctx.progress(1, 2, 'The water boils')
  const answer = await ctx.elicit('milk', 'With milk?', z.object({ milk: z.boolean() }))
  return answer.content?.milk ? 'Tea with milk' : `Tea: ${answer.action}`
})

const teaBrewed = event('tea.brewed', {
  description: 'Tea was brewed',
  inputSchema: z.object({ kind: z.string().describe('Which tea') }),
  payloadSchema: z.object({ kind: z.string(), cups: z.int() }),
  matches: ({ kind }, tea) => tea.kind === kind,
})
server.tool('publish', { description: 'Publishes tea.brewed' }, () =>
  teaBrewed.publish({ kind: 'green', cups: 2 }, { everyone: true }),
)

const worker = serve(server, {
  // That a reader has gone is noticed when it is written to.
  limits: { keepAliveMs: 200 }, // Whoever brings a token is who it says.
  auth: {
    allowAnonymous: true,
    async authenticate(request) {
      const [, subject] = request.headers.get('Authorization')?.split(' ') ?? []
      return subject ? { issuer: 'test', subject, scopes: [], claims: {} } : undefined
    },
  },
  plugins: [sessions(), subscriptions(), tasks(), events([teaBrewed])],
})
export default worker
export const { McpEvents, McpSession, McpSubscriptions, McpTask } = worker
