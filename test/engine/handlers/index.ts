/** Handlers that return, or do, what a careful developer would not. */
import { createServer, type GetPromptResult, promptResult, resourceResult, serve, text, toolResult } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { McpState, state } from 'edgemcp/state'
import * as z from 'zod'

const server = createServer({ name: 'handlers', version: '1.0.0' })

const deletions = state('deletions', { per: 'user', ttl: 60_000 })

const json = z.object({ json: z.string() })

server.tool('returns_data', { description: 'Returns JSON of some API as it is', inputSchema: json }, ({ json }) =>
  JSON.parse(json),
)

server.tool(
  'returns_structured_data',
  { description: 'Returns JSON of some API as structured content', inputSchema: json, outputSchema: z.looseObject({}) },
  ({ json }) => JSON.parse(json),
)

server.tool('returns_result', { description: 'Makes a result of data', inputSchema: json }, ({ json }) =>
  toolResult(JSON.parse(json)),
)

server.prompt('returns_data', { description: 'Returns JSON of some API as it is', argsSchema: json }, ({ json }) =>
  JSON.parse(json),
)

server.prompt('returns_result', { description: 'Makes a result of messages' }, () =>
  promptResult({
    description: 'made',
    messages: [{ role: 'assistant', content: text('hi') }],
    _meta: { 'com.example/a': 1 },
    resultType: 'task',
  } as GetPromptResult),
)

server.resource('data://{json}', { description: 'Returns JSON of some API as it is' }, ({ json }) => JSON.parse(json))

server.resource('result://made', { description: 'Makes a result of contents' }, () =>
  resourceResult({ contents: [{ uri: 'result://other', text: 'made' }], _meta: { 'com.example/a': 1 } }),
)

const Sure = z.object({ sure: z.boolean() })
let deleted = 0

const forgetful = z.object({
  next: z.enum(['once', 'return', 'wait and once', 'wait and return', 'state', 'elicit', 'response']),
})
server.tool(
  'forgets_await',
  { description: 'Does not wait for its answer', inputSchema: forgetful },
  async ({ next }, ctx) => {
    ctx.elicit('sure', 'Delete everything?', Sure)
    if (next.startsWith('wait')) await scheduler.wait(20)
    if (next === 'state') await ctx.state(deletions).put('at', 1)
    if (next === 'elicit') await ctx.elicit('other', 'Other?', Sure)
    if (next === 'response') {
      ctx.inputResponse('sure')
      await Promise.withResolvers().promise
    }
    if (next.endsWith('once')) await ctx.once('delete', () => ++deleted)
    return 'Deleted.'
  },
)

server.tool('awaits_together', { description: 'Asks twice and works at once' }, async (_, ctx) => {
  const first = ctx.elicit('first', 'First?', Sure)
  const ask = async (key: string) => ctx.elicit(key, 'And then?', Sure)
  const [one, two, count] = await Promise.all([first, ask('second'), ctx.once('count', () => ++deleted)])
  const last = await Promise.race([ctx.elicit('third', 'Third?', Sure), ctx.elicit('fourth', 'Fourth?', Sure)])
  return JSON.stringify([one.action, two.action, typeof count, last.action])
})

const oddities: Record<string, () => unknown> = {
  response: () => new Response('x'),
  map: () => new Map([['a', 1]]),
  nested: () => ({ users: [new Set([1])] }),
  function: () => () => 1,
  bigint: () => 5n,
  promise: () => ({ later: Promise.resolve(1) }),
}
const odd = z.object({ value: z.string() })
server.tool(
  'returns_oddity',
  { description: 'Returns what has no JSON form', inputSchema: odd },
  ({ value }) =>
    // It should not type-check.
    oddities[value]?.() as string,
)
server.tool(
  'keeps_oddity',
  { description: 'Keeps what has no JSON form', inputSchema: odd },
  async ({ value }, ctx) => {
    await ctx.once('odd', () => oddities[value]?.())
    return 'kept'
  },
)
server.tool('keeps_date', { description: 'Keeps a date and asks' }, async (_, ctx) => {
  const kept = await ctx.once('kept', () => ({ at: new Date(0) }))
  const first = await ctx.once('type', () => typeof kept.at)
  await ctx.elicit('sure', 'Sure?', Sure)
  return `${first} ${typeof kept.at}`
})
server.tool(
  'breaks_output',
  { description: 'Returns another shape than it says', outputSchema: z.object({ sum: z.number() }) },
  () => ({ sum: 'three' }) as never,
)
server.tool(
  'returns_full',
  { description: 'Returns structured content only', outputSchema: z.object({ sum: z.number() }) },
  () => toolResult({ structuredContent: { sum: 3 } }),
)

server.tool('deleted', { description: 'How often something was deleted' }, async (_, ctx) =>
  JSON.stringify([deleted, await ctx.state(deletions).get('at')]),
)

// Everybody is the same person: states need one.
const principal = {
  subject: 'ada',
  client: 'test',
  issuer: 'https://issuer.example',
  scopes: [],
  tenant: undefined,
  claims: {},
}
const worker = serve(server, { auth: { authenticate: async () => principal }, plugins: [sessions()] })
export default worker
export const { McpSession } = worker
export { McpState }
