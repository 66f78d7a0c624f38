/** A server with every feature of the protocol, for tests: small, deterministic, and the same for every protocol version. */
import { audio, createServer, embeddedResource, image, McpError, resourceLink, type Server, serve, text } from 'edgemcp'
import { jsonSchema } from 'edgemcp/json-schema'
import { page } from 'edgemcp/page'
import { sessions } from 'edgemcp/sessions'
import { state } from 'edgemcp/state'
import * as z from 'zod'

const server = createServer({
  name: 'everything',
  title: 'Everything',
  version: '1.0.0',
  description: 'A server for tests',
  websiteUrl: 'https://example.com/',
  icons: [{ src: 'data:image/svg+xml,%3Csvg/%3E', mimeType: 'image/svg+xml' }],
  instructions: 'Call the tools.',
  pageSize: 50,
  jsonSchema,
})

const pixel = new Uint8Array([137, 80, 78, 71])
const versions = new Map<string, number>()
let effects = 0

server.tool('echo', { description: 'Says it back', inputSchema: z.object({ text: z.string() }) }, ({ text }) => text)

server.tool(
  'add',
  {
    title: 'Add',
    description: 'Adds two numbers',
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    outputSchema: z.object({ sum: z.number() }),
    annotations: { readOnlyHint: true, title: 'Adder' },
    icons: [{ src: 'https://example.com/add.png', mimeType: 'image/png', sizes: ['48x48'] }],
    _meta: { 'com.example/kind': 'arithmetic' },
  },
  ({ a, b }) => ({ sum: a + b }),
)

server.tool(
  'list_words',
  {
    description: 'Splits a text',
    inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    outputSchema: { type: 'array', items: { type: 'string' } },
  },
  ({ text }) => text.split(' '),
)

server.tool(
  'union',
  {
    description: 'Returns the value it gets',
    inputSchema: { type: 'object', properties: { value: {} } },
    outputSchema: { anyOf: [{ type: 'object' }, { type: 'string' }, { type: 'null' }] },
  },
  ({ value }) => value as { [name: string]: unknown } | string | null,
)

server.tool('blocks', { description: 'One block of each kind' }, () => [
  text('text'),
  image(pixel, 'image/png'),
  audio('AAAA', 'audio/wav'),
  resourceLink('note://1', { name: 'Note 1', title: 'The first note', mimeType: 'text/plain' }),
  embeddedResource({ uri: 'note://1', mimeType: 'text/plain', text: 'one' }),
])

server.tool('fail', { description: 'Fails' }, () => {
  throw new Error('It failed')
})

server.tool('refuse', { description: 'Ends with a protocol error' }, () => {
  throw new McpError('invalid_params', 'Refused', { why: 'test' })
})

server.tool('nothing', { description: 'Returns nothing' }, () => {})

server.tool(
  'progress',
  { description: 'Reports three steps', inputSchema: z.object({ steps: z.number() }) },
  ({ steps }, ctx) => {
    for (let step = 1; step <= steps; step++) ctx.progress(step, steps, `step ${step}`)
    ctx.progress(steps, steps, 'not an increase')
    return `${steps} steps`
  },
)

server.tool('logs', { description: 'Logs one line of each level' }, (_, ctx) => {
  for (const level of ['debug', 'info', 'warning', 'error'] as const) ctx.log(level, { level }, 'test')
  return 'logged'
})

server.tool(
  'pour',
  { description: 'Logs much at once', inputSchema: z.object({ lines: z.number(), characters: z.number() }) },
  ({ lines, characters }, ctx) => {
    for (let line = 1; line <= lines; line++) ctx.log('error', `${line} ${'x'.repeat(characters)}`)
    return `${lines} lines`
  },
)

server.tool(
  'region',
  {
    description: 'Says which region was asked for',
    inputSchema: {
      type: 'object',
      properties: {
        region: { type: 'string', 'x-mcp-header': 'Region' },
        count: { type: 'integer', 'x-mcp-header': 'Count' },
        dry: { type: 'boolean', 'x-mcp-header': 'Dry' },
        inner: { type: 'object', properties: { deep: { type: 'string', 'x-mcp-header': 'Deep' } } },
      },
    },
  },
  ({ region, count, dry, inner }) => JSON.stringify({ region, count, dry, deep: inner?.deep }),
)

server.tool('ask_name', { description: 'Asks who is there' }, async (_, ctx) => {
  ctx.progress(1, 2)
  const answer = await ctx.elicit('name', 'What is your name?', z.object({ name: z.string().min(1) }))
  if (answer.action !== 'accept') return `No name: ${answer.action}`
  ctx.progress(2, 2)
  return `Hello, ${answer.content.name}!`
})

const Soon = z.object({ timeoutMs: z.number().default(1000) })
server.tool('ask_soon', { description: 'Wants an answer soon', inputSchema: Soon }, async ({ timeoutMs }, ctx) => {
  const answer = await ctx.elicit('soon', 'Soon?', z.object({ value: z.string() }), { timeout: timeoutMs })
  return `${answer.content?.value}`
})

server.tool('ask_twice', { description: 'Asks for two things, one after the other' }, async (_, ctx) => {
  const receipt = await ctx.once('receipt', () => ++effects)
  const first = await ctx.elicit('first', 'First?', z.object({ value: z.string() }))
  const second = await ctx.elicit('second', 'Second?', z.object({ value: z.string() }))
  if (first.action !== 'accept' || second.action !== 'accept') return 'declined'
  const again = await ctx.once('again', () => effects)
  return `${first.content.value} ${second.content.value} ${again - receipt}`
})

const charges = new Map<string, number>()
for (const single of [true, false]) {
  server.tool(
    single ? 'pay_once' : 'pay',
    { description: 'Asks, charges and asks again', singleUse: single, inputSchema: z.object({ order: z.string() }) },
    async ({ order }, ctx) => {
      const consent = await ctx.elicit('consent', 'Pay?', z.object({ sure: z.boolean() }))
      if (!consent.content?.sure) return 'Nothing was charged.'
      const receipt = await ctx.once('charge', async () => {
        await scheduler.wait(20)
        charges.set(order, (charges.get(order) ?? 0) + 1)
        return crypto.randomUUID()
      })
      const thanks = await ctx.elicit('thanks', 'Paid. A note?', z.object({ note: z.string().max(10) }))
      return `${receipt} ${thanks.content?.note}`
    },
  )
}
const finished = new Set<string>()
server.tool(
  'pay_slowly',
  {
    description: 'Asks, and charges until it is told to finish',
    singleUse: true,
    inputSchema: z.object({ order: z.string() }),
  },
  async ({ order }, ctx) => {
    await ctx.elicit('consent', 'Pay?', z.object({ sure: z.boolean() }))
    charges.set(order, (charges.get(order) ?? 0) + 1)
    while (!finished.has(order)) await scheduler.wait(20)
    return `charged ${charges.get(order)} time`
  },
)
server.tool('finish', { description: 'Ends pay_slowly', inputSchema: z.object({ order: z.string() }) }, ({ order }) => {
  finished.add(order)
  return 'finished'
})
server.tool(
  'pay_soon',
  { description: 'Asks for an hour, and charges', singleUse: true, inputSchema: z.object({ order: z.string() }) },
  async ({ order }, ctx) => {
    await ctx.elicit('consent', 'Pay?', z.object({ sure: z.boolean() }), { timeout: 60 * 60_000 })
    charges.set(order, (charges.get(order) ?? 0) + 1)
    return `charged ${charges.get(order)} time`
  },
)
server.tool('charged', { description: 'How often', inputSchema: z.object({ order: z.string() }) }, ({ order }) =>
  String(charges.get(order) ?? 0),
)

server.tool('ask_much', { description: 'Learns much before it asks' }, async (_, ctx) => {
  const much = await ctx.once('much', () => 'much '.repeat(40_000))
  const first = await ctx.elicit('first', 'First?', z.object({ value: z.string() }))
  const second = await ctx.elicit('second', 'Second?', z.object({ value: z.string() }))
  return `${much.length} ${first.content?.value} ${second.content?.value}`
})

server.tool('ask_choices', { description: 'Asks with every kind of field' }, async (_, ctx) => {
  const answer = await ctx.elicit(
    'choices',
    'Choose',
    z.object({
      colour: z.enum(['red', 'green']).default('red'),
      size: z.number().min(1).max(9),
      sure: z.boolean().default(true),
      mail: z.email().optional(),
    }),
  )
  return answer.action === 'accept' ? JSON.stringify(answer.content) : answer.action
})

server.tool('ask_model', { description: 'Asks the client for a completion' }, async (_, ctx) => {
  const answer = await ctx.sample('capital', { prompt: 'What is the capital of France?', maxTokens: 50 })
  return `The model says: ${answer.text}`
})

server.tool('ask_url', { description: 'Sends a person to a page' }, async (_, ctx) => {
  const visited = await ctx.elicitUrl('connect', 'Connect your account', 'https://example.com/connect?flow=1')
  if (visited.action === 'accept') ctx.elicitationComplete('connect')
  return `The page: ${visited.action}`
})

/** The signed-in users, by the state of the page. */
const signedIn = new Set<string>()
server.tool(
  'sign_in',
  { description: 'Needs a person to have signed in before', inputSchema: z.object({ who: z.string() }) },
  async ({ who }, ctx) => {
    if (signedIn.has(who)) return 'Signed in'
    const options = { required: true }
    const { action } = await ctx.elicitUrl('sign-in', 'Sign in first', `https://example.com/in?who=${who}`, options)
    return action === 'accept' ? 'Say when you have signed in' : `Not signed in: ${action}`
  },
)
server.tool(
  'signed_in',
  { description: 'Says that somebody has', inputSchema: z.object({ who: z.string() }) },
  ({ who }) => {
    signedIn.add(who)
  },
)

let isLeft = false
server.tool(
  'ask_url_twice',
  { description: 'Does not end the first time a person is back', annotations: { readOnlyHint: true } },
  async (_, ctx) => {
    await ctx.elicitUrl('connect', 'Connect your account', 'https://example.com/connect?flow=1')
    ctx.elicitationComplete('connect')
    isLeft = !isLeft
    return isLeft ? new Promise<never>(() => {}) : 'done'
  },
)

server.tool('ask_roots', { description: 'Asks where the client works' }, async (_, ctx) => {
  const roots = await ctx.roots()
  return roots.map((root) => root.uri).join(' ')
})

server.tool('ask_roots_and_name', { description: 'Asks who is there, and where they work' }, async (_, ctx) => {
  const [roots, name] = await Promise.all([
    ctx.roots(),
    ctx.elicit('name', 'What is your name?', z.object({ name: z.string() })),
  ])
  return `${name.content?.name} in ${roots.map((root) => root.uri).join(' ')}`
})

server.tool('ask_together', { description: 'Asks a person and a model at once' }, async (_, ctx) => {
  const [person, model] = await Promise.all([
    ctx.elicit('person', 'Your turn?', z.object({ value: z.string() })),
    ctx.sample('model', { prompt: 'Yours?', maxTokens: 10 }),
  ])
  return `${person.action === 'accept' ? person.content.value : person.action} and ${model.text}`
})

server.tool('ask_around', { description: 'Asks a model and where the client works at once' }, async (_, ctx) => {
  const [model, roots] = await Promise.all([
    ctx.sample('model', { prompt: 'What is here?', maxTokens: 10 }),
    ctx.roots(),
  ])
  return `${model.text} in ${roots.map((root) => root.uri).join(' ')}`
})

server.tool('can', { description: 'What the client can do' }, (_, ctx) =>
  JSON.stringify({
    elicitation: ctx.supports('elicitation'),
    sampling: ctx.supports('sampling'),
    roots: ctx.supports('roots'),
    session: ctx.session !== undefined,
    client: ctx.client?.name,
  }),
)

server.tool(
  'wait',
  { description: 'Waits until it is cancelled', inputSchema: z.object({ key: z.string() }) },
  ({ key }, ctx) => {
    ctx.progress(1)
    waits.set(key, 'waiting')
    return new Promise<string>((resolve) => {
      ctx.signal.addEventListener('abort', () => {
        waits.set(key, 'cancelled')
        resolve('cancelled')
      })
    })
  },
)

const waits = new Map<string, string>()
server.tool(
  'waited',
  { description: 'What became of a wait', inputSchema: z.object({ key: z.string() }) },
  ({ key }) => {
    return waits.get(key) ?? 'unknown'
  },
)

const runs = new Map<string, number>()
server.tool(
  'stubborn',
  {
    description: 'Does not end the first time it is run',
    inputSchema: z.object({ key: z.string(), steps: z.number().default(1), away: z.boolean().optional() }),
    annotations: { readOnlyHint: true },
  },
  ({ key, steps, away }, ctx) => {
    const run = (runs.get(key) ?? 0) + 1
    runs.set(key, run)
    if (away) ctx.closeStream({ retryMs: 20 })
    for (let step = 1; step <= steps; step++) ctx.progress(step)
    if (run === 1) return new Promise<never>(() => {})
    ctx.progress(steps + 1)
    return `run ${run}`
  },
)

server.tool(
  'cling',
  {
    description: 'Goes on after its call was aborted',
    inputSchema: z.object({ how: z.enum(['state', 'disconnect']) }),
  },
  ({ how }, ctx) =>
    new Promise<string>((resolve) => {
      ctx.signal.addEventListener('abort', async () => {
        try {
          if (how === 'disconnect') ctx.closeStream()
          else await ctx.state(cart).put('a', 1)
          clung.push('went on')
        } catch (problem) {
          clung.push(String(problem))
        }
        resolve('went on')
      })
    }),
)
const cart = state<{ a: number }>('everything_cart', { per: 'session' })
const clung: string[] = []
server.tool('clung', { description: 'What became of those that clung' }, () => clung.splice(0).join())

server.resource(
  'slow://{id}',
  {
    name: 'slow',
    description: 'Takes its time to say who may read it',
    visibleTo: async () => {
      if (isSlow) await scheduler.wait(50)
      return isSlow
    },
  },
  ({ id }) => id,
)
let isSlow = false
server.tool(
  'slow',
  { description: 'Shows slow://{id}, or hides it', inputSchema: z.object({ on: z.boolean() }) },
  ({ on }) => {
    isSlow = on
  },
)

server.tool('disconnect', { description: 'Sends the client away before it answers' }, async (_, ctx) => {
  ctx.progress(1)
  ctx.closeStream({ retryMs: 20 })
  ctx.progress(2)
  ctx.closeStream()
  return 'You came back'
})

server.tool('touch', { description: 'Changes a note', inputSchema: z.object({ id: z.string() }) }, async ({ id }) => {
  versions.set(id, (versions.get(id) ?? 0) + 1)
  await note.updated({ id })
  return `touched ${id}`
})

server.tool('change_lists', { description: 'Says that every list changed' }, async () => {
  await server.notify.toolsChanged()
  await server.notify.promptsChanged()
  await server.notify.resourcesChanged()
  return 'changed'
})

server.tool('secret', { description: 'Nobody sees this', visibleTo: () => false }, () => 'secret')

const note = server.resource(
  'note://{id}',
  {
    name: 'note',
    title: 'Note',
    description: 'A note',
    mimeType: 'text/plain',
    annotations: { audience: ['user'], priority: 0.5, lastModified: '2026-01-01T00:00:00Z' },
    list: () => ['1', '2', '3'].map((id) => ({ id, name: `note ${id}`, title: `Note ${id}` })),
    complete: { id: (prefix) => ['1', '2', '3', '10'].filter((id) => id.startsWith(prefix)) },
  },
  ({ id }) => (/^\d+$/.test(id) ? `note ${id}` : undefined),
)

server.resource(
  'data://pixel',
  {
    name: 'pixel',
    description: 'Four bytes',
    mimeType: 'image/png',
    size: 4,
    caching: { ttlMs: 60_000, cacheScope: 'public' },
  },
  () => pixel,
)

server.resource('data://asks', { name: 'asks', description: 'Asks before it shows itself' }, async (_, ctx) => {
  const answer = await ctx.elicit('pass', 'May I?', z.object({ ok: z.boolean() }))
  return answer.action === 'accept' && answer.content.ok ? 'shown' : 'hidden'
})

server.prompt(
  'review',
  {
    title: 'Review',
    description: 'Reviews code',
    argsSchema: z.object({ language: z.string().describe('Which language'), code: z.string().optional() }),
    complete: {
      language: (prefix, { code }) =>
        code === undefined ? ['rust', 'ruby', 'typescript'].filter((name) => name.startsWith(prefix)) : ['known'],
    },
  },
  ({ language, code = '' }) => `Review this ${language}: ${code}`,
)

server.prompt('ask', { description: 'Asks before it says' }, async (_, ctx) => {
  const answer = await ctx.elicit('topic', 'About what?', z.object({ topic: z.string() }))
  return answer.action === 'accept' ? `Tell me about ${answer.content.topic}` : 'Tell me anything'
})

const many = (server: Server) => {
  for (let number = 1; number <= 60; number++) {
    server.tool(`tool_${number}`, { description: `Number ${number}` }, () => String(number))
  }
}
const seasonal = {
  tool: server.tool('seasonal', { description: 'Is not always there', enabled: false }, () => 'It is the season'),
  prompt: server.prompt('seasonal', { description: 'Is not always there', enabled: false }, () => 'Season?'),
  resource: server.resource('data://seasonal', { description: 'Is not always there', enabled: true }, () => 'Now'),
  template: server.resource(
    'season://{name}',
    { name: 'season', description: 'Is not always there', enabled: true },
    () => 'Now',
  ),
}
server.tool(
  'turn',
  {
    description: 'Enables and disables what is seasonal',
    inputSchema: z.object({
      what: z.enum(['tool', 'prompt', 'resource', 'template']),
      how: z.enum(['enable', 'disable']),
    }),
  },
  async ({ what, how }) => {
    await seasonal[what][how]()
  },
)

server.resource(
  'diary://{owner}',
  {
    name: 'diary',
    description: 'May be read and heard of by its owner',
    authorize: ({ principal }, { owner }) => owner === 'everybody' || owner === principal?.subject,
  },
  ({ owner }) => `A diary of ${owner}`,
)

server.use(many, { prefix: 'many.' })

const worker = serve(server, {
  // A slow machine must not turn a JSON response into an event stream.
  limits: { maxBodyBytes: 1_000_000, bodyTimeoutMs: 4_000, streamAfterMs: 600_000, keepAliveMs: 200 },
  plugins: [sessions(), page(), subscriptions()],
})
export default worker
export const { McpSession, McpSubscriptions } = worker
export { McpState } from 'edgemcp/state'
/** Sessions that lose nothing without an error. */
export const { McpSession: StrictSession } = serve(server, {
  path: '/strict/mcp',
  plugins: [sessions({ revive: false })],
  durableObjects: { names: { McpSession: 'StrictSession' } },
})
/** For an endpoint of another server that a test makes in this Worker. */
export class LookingSession extends McpSession {}
export class LookingTask extends McpSession {}

import { subscriptions } from 'edgemcp/subscriptions'
