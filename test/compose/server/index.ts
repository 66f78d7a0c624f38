/** Two servers in one Worker, beside an application; one of them has a third as its part. */
import { exports } from 'cloudflare:workers'
import { createServer, McpError, serve } from 'edgemcp'
import { combine, type McpRpc, mount, rpcEntrypoint } from 'edgemcp/compose'
import { extension } from 'edgemcp/extensions'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'
import { tasks } from 'edgemcp/tasks'
import { Hono } from 'hono'
import * as z from 'zod'

const weather = createServer({ name: 'weather', version: '1.0.0' })
let degrees = 20
const now = weather.resource('weather://{city}', { name: 'weather', description: 'Of a city' }, () => `${degrees} °C`)
weather.tool(
  'now',
  { description: 'How it is', inputSchema: z.object({ city: z.string() }) },
  ({ city }) => `Fine in ${city}`,
)
weather.tool('warm', { description: 'Warms a city', inputSchema: z.object({ city: z.string() }) }, async ({ city }) => {
  degrees += 1
  await now.updated({ city })
  return `${degrees} °C`
})
weather.prompt('plan', { description: 'Plans a day' }, () => 'Plan my day')
const asked: string[] = []
weather.tool('asked', { description: 'What it was asked' }, () => asked.splice(0).join(', '))
weather.intercept(async ({ method, params }, next) => {
  const { city } = (params.arguments ?? {}) as { city?: string }
  if (city === 'Atlantis') throw new McpError('invalid_params', 'Atlantis has no weather')
  asked.push(`${method} ${params.name ?? params.uri ?? ''}`.trim())
  return city === 'Berne' ? next({ ...params, arguments: { city: 'Bern' } }) : next()
})

const main = createServer({ name: 'main', version: '1.0.0' })
const seen: string[] = []
main.use(mount(weather, { prefix: 'weather_' }))
main.tool('echo', { description: 'Says it', inputSchema: z.object({ text: z.string() }) }, ({ text }) => text)
main.tool('ask', { description: 'FetchHandler' }, async (_, ctx) => {
  const answer = await ctx.elicit('name', 'Name?', z.object({ name: z.string() }))
  return `Hello, ${answer.content?.name}`
})
const Placed = z.object({
  region: z.string().meta({ 'x-mcp-header': 'Region' }),
  at: z.object({ floor: z.int().meta({ 'x-mcp-header': 'Floor' }) }).optional(),
})
main.tool('placed', { description: 'Says where', inputSchema: Placed, annotations: { readOnlyHint: true } }, (where) =>
  JSON.stringify(where),
)
main.use(
  extension('com.example/rooms', {
    methods: { 'rooms/open': ({ room }) => ({ opened: String(room) }) },
    named: { 'rooms/open': 'room' },
  }),
)
main.tool('long', { description: 'Takes its time', task: true }, () => 'done')
main.tool('seen', { description: 'What was seen' }, () => seen.splice(0).join(', '))
main.intercept(async ({ method, params, protocolVersion, principal, isTask }, next) => {
  if (params.name === 'seen') return next()
  seen.push(
    `outer ${isTask ? 'task ' : ''}${method} ${params.name ?? ''} ${protocolVersion} ${principal?.subject ?? 'nobody'}`.trim(),
  )
  try {
    return await next()
  } finally {
    seen.push('outer over')
  }
})
main.intercept(async ({ method, params }, next) => {
  const { text } = (params.arguments ?? {}) as { text?: string }
  if (text === 'forbidden') throw new McpError('forbidden', 'That must not be said')
  if (text === 'cached') return { type: 'result', result: { content: [{ type: 'text', text: 'from the cache' }] } }
  if (text === 'changed') return next({ ...params, arguments: { text: 'other words' } })
  const outcome = await next()
  if (method !== 'tools/list' || outcome.type !== 'result') return outcome
  const { result } = outcome
  const tools = (result.tools as { name: string }[]).filter(({ name }) => name !== 'seen')
  return { ...outcome, result: { ...result, tools } }
})

let authenticatedUrl = ''
const authenticate = async (request: Request) => {
  authenticatedUrl = request.url
  const subject = request.headers.get('Authorization')?.replace('Bearer ', '')
  return subject ? { issuer: 'https://names.example', subject, scopes: [], claims: {} } : undefined
}
const mainWorker = serve(main, {
  auth: { allowAnonymous: true, authenticate },
  plugins: [sessions(), subscriptions(), tasks()],
})
const names = { McpSession: 'OtherSession' }
const otherWorker = serve(weather, { path: '/other/mcp', durableObjects: { names }, plugins: [sessions()] })

const app = new Hono()
app.get('/', (context) => context.text('The application'))
app.post('/mcp/about', (context) => context.text('About', 201))
app.get('/authenticated-url', (context) => context.text(authenticatedUrl))
app.all('/rpc', async (context) => {
  const { method, params, token, entrypoint } = await context.req.json<{
    method: string
    params: object
    token?: string
    entrypoint?: 'McpUrlEntrypoint'
  }>()
  const rpc = (exports as unknown as Record<string, McpRpc>)[entrypoint ?? 'McpEntrypoint'] as McpRpc
  try {
    return context.json(await rpc.request(method, params as never, token === undefined ? {} : { token }))
  } catch (problem) {
    return context.json({ problem: (problem as Error).message })
  }
})

export default combine(mainWorker, otherWorker, app)
export const { McpSession, McpSubscriptions, McpTask } = mainWorker
export const { McpSession: OtherSession } = otherWorker
export const McpEntrypoint = rpcEntrypoint(mainWorker)
export const McpUrlEntrypoint = rpcEntrypoint(mainWorker, { url: 'https://mcp.example.com/mcp' })
