/** Tools with large results, at endpoints that store them in R2. */
import { env } from 'cloudflare:workers'
import { type Auth, type CallToolResult, createServer, image, type Plugin, serve, text, toolResult } from 'edgemcp'
import { combine, proxy } from 'edgemcp/compose'
import { resultStore, storedResult } from 'edgemcp/results'
import { sessions } from 'edgemcp/sessions'
import { tasks } from 'edgemcp/tasks'
import * as z from 'zod'

const { RESULTS } = env as unknown as { RESULTS: R2Bucket } // declared in wrangler.toml

const server = createServer({ name: 'results', version: '1.0.0' })
const inputSchema = z.object({ size: z.number() })

server.tool('text', { description: 'Returns a text', inputSchema, task: true }, ({ size }) => 'äbc'.repeat(size / 4))
server.tool('blocks', { description: 'Returns a short text, and a large image', inputSchema }, ({ size }) => [
  text('a short text'),
  text('x'.repeat(2000)),
  image(new Uint8Array(size).fill(7), 'image/png'),
])
const chunks: Readonly<Record<string, unknown>> = { string: 'hello', ArrayBuffer: new ArrayBuffer(5), object: {} }
server.tool(
  'chunk',
  { description: 'Stores a stream whose chunks are no bytes', inputSchema: z.object({ kind: z.string() }) },
  ({ kind }) => {
    const stream = new ReadableStream<unknown>({
      start(controller) {
        controller.enqueue(chunks[kind])
        controller.close()
      },
    })
    return storedResult(stream as ReadableStream<Uint8Array>) // the wrong type on purpose
  },
)
server.tool(
  'many',
  { description: 'Returns many small texts', inputSchema: z.object({ count: z.number(), size: z.number() }) },
  ({ count, size }) => Array.from({ length: count }, (_, index) => text(String(index).padEnd(size, '.'))),
)
const canceled: unknown[] = []
server.tool('bad_image', { description: 'Returns an image, which an interceptor replaces', inputSchema }, ({ size }) =>
  image(new Uint8Array(size), 'image/png'),
)
server.tool(
  'copied',
  { description: 'Returns a copy of a stored result', inputSchema: z.object({ copy: z.string() }) },
  ({ copy }) => {
    const block = storedResult(new ReadableStream({ cancel: () => void canceled.push(copy) }))
    if (copy === 'JSON') return JSON.parse(JSON.stringify(block)) as typeof block
    return copy === 'spread' ? { ...block } : block
  },
)
server.intercept(async (call, next) => {
  const outcome = await next()
  const { copy } = Object(call.params.arguments)
  if (copy === 'interceptor' && outcome.type === 'result') {
    const content = (outcome.result as CallToolResult).content.map((block) => ({ ...block }))
    return { ...outcome, result: { content } }
  }
  if (call.params.name !== 'bad_image' || outcome.type !== 'result') return outcome
  const data = '*'.repeat(600_000)
  return { ...outcome, result: { content: [{ type: 'image', data, mimeType: 'image/png' }] } }
})
server.prompt('stored', { description: 'Has content that cannot be stored' }, () =>
  storedResult(new ReadableStream({ cancel: () => void canceled.push('stored') })),
)
server.tool('canceled', { description: 'Returns the streams that were canceled' }, () => canceled.join())
/** What happened to the streams of `endless` and `two`. */
const streams = { pulled: 0, canceled: 0 }
const endless = () =>
  new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        await scheduler.wait(1)
        streams.pulled += 1
        controller.enqueue(chunk)
      },
      cancel() {
        streams.canceled += 1
      },
    },
    { highWaterMark: 0 },
  )
server.tool('endless', { description: 'Stores a stream without an end' }, () => storedResult(endless()))
server.tool('two', { description: 'Stores a text, and two streams, of which the first one fails' }, () => [
  storedResult('a text'),
  storedResult(streamOf(2, 1)),
  storedResult(endless()),
])
server.tool('streams', { description: 'Returns what happened to streams' }, () => JSON.stringify(streams))
server.tool('characters', { description: 'Stores characters of 1 to 4 bytes' }, () => storedResult('a€😀ä'.repeat(5)))
server.tool(
  'typed',
  { description: 'Stores a text with a media type', inputSchema: z.object({ mimeType: z.string() }) },
  ({ mimeType }) => storedResult('{"a":1}', { mimeType }),
)
server.tool('only_data', { description: 'Returns structured content without content', inputSchema }, ({ size }) =>
  toolResult({ structuredContent: { data: 'd'.repeat(size) } }),
)
const Rows = z.object({ rows: z.array(z.string()) })
server.tool('rows', { description: 'Returns rows', inputSchema, outputSchema: Rows }, ({ size }) => ({
  rows: ['r'.repeat(size)],
}))
const Either = z.union([z.object({ count: z.number() }), z.string()])
server.tool('either', { description: 'Has an output schema without a type', outputSchema: Either }, () => ({
  count: 1,
}))
server.tool('data', { description: 'Returns data without a schema', inputSchema }, ({ size }) =>
  toolResult({ content: [text('some data')], structuredContent: { data: 'd'.repeat(size) } }),
)
server.tool('secret', { description: 'Returns what requires a scope', inputSchema, scopes: ['secrets'] }, ({ size }) =>
  's'.repeat(size),
)

const chunk = new TextEncoder().encode(`${'0123456789abcde\n'.repeat(65_536)}`)
const streamOf = (mebibytes: number, failsAt?: number) => {
  let sent = 0
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (sent === failsAt) throw new Error('the source fails')
        if (sent === mebibytes) return controller.close()
        sent += 1
        controller.enqueue(chunk)
      },
    },
    { highWaterMark: 0 },
  )
}
server.tool(
  'stream',
  { description: 'Stores a stream', inputSchema: z.object({ mebibytes: z.number(), failsAt: z.number().optional() }) },
  ({ mebibytes, failsAt }) => [
    text('Here it is:'),
    storedResult(streamOf(mebibytes, failsAt), { mimeType: 'text/plain', name: 'numbers.txt' }),
  ],
)

/** The token is the subject, with its scopes after a colon. */
const auth: Auth = {
  allowAnonymous: true,
  storedClaims: [],
  async authenticate(request) {
    const [, subject, scopes = ''] = /^Bearer (\w+):?(\w*)$/.exec(request.headers.get('Authorization') ?? '') ?? []
    return subject ? { issuer: 'https://login.example', subject, scopes: [scopes], claims: {} } : undefined
  },
}

/** Lists the keys in the bucket. */
const inspecting: Plugin = {
  name: 'inspecting',
  routes: () => [
    {
      path: '/keys',
      methods: ['GET'],
      handle: async () => Response.json((await RESULTS.list()).objects.map(({ key, size }) => ({ key, size }))),
    },
  ],
}

const durableObjects = { names: { McpSession: 'ResultsSession', McpTask: 'ResultsTask' } }
const stored = serve(server, {
  auth,
  durableObjects,
  plugins: [
    sessions(),
    inspecting,
    resultStore({ bucket: RESULTS, overBytes: 10_000, previewCharacters: 20 }),
    tasks(),
  ],
})
export const { McpSession: ResultsSession, McpTask: ResultsTask } = stored
const expired = serve(server, {
  path: '/expired/mcp',
  auth,
  plugins: [
    resultStore({ bucket: () => RESULTS, overBytes: 10_000, ttl: 0, prefix: 'expired/', maxStoredBytes: 20_000_000 }),
  ],
})
const broken = serve(server, {
  path: '/broken/mcp',
  plugins: [resultStore({ bucket: () => undefined as never, overBytes: 10_000 })],
})

/** A gateway to the tools of `server`, in this Worker. */
const upstream = serve(server, { path: '/upstream/mcp' })
const waiting = { waitUntil: () => {}, passThroughOnException: () => {} } as unknown as ExecutionContext // all that is used
const gateway = createServer({ name: 'gateway', version: '1.0.0' })
gateway.use(
  proxy('https://upstream.example/upstream/mcp', {
    prefix: 'up_',
    fetch: async (url, init) => upstream.fetch(new Request(url, init), env, waiting),
    scopes: [],
    tools: { text: { scopes: ['secrets'] } },
  }),
)
const storing = ['first', 'second'].map((name) =>
  serve(server, {
    path: `/${name}/mcp`,
    plugins: [resultStore({ bucket: RESULTS, overBytes: 10_000, prefix: `${name}/` })],
  }),
)
for (const [index, worker] of storing.entries()) {
  const name = index === 0 ? 'first' : 'second'
  gateway.use(
    proxy(`https://upstream.example/${name}/mcp`, {
      prefix: `${name}_`,
      fetch: async (url, init) => worker.fetch(new Request(url, init), env, waiting),
      scopes: [],
    }),
  )
}
gateway.tool('own', { description: 'Requires a scope', inputSchema, scopes: ['secrets'] }, ({ size }) =>
  's'.repeat(size),
)
gateway.tool('alias', { description: 'Calls own', inputSchema }, () => 'never')
gateway.intercept((call, next) => (call.params.name === 'alias' ? next({ ...call.params, name: 'own' }) : next()))
const gated = serve(gateway, {
  path: '/gateway/mcp',
  auth,
  durableObjects: { names: { McpSession: 'ResultsGatewaySession' } },
  plugins: [sessions(), resultStore({ bucket: RESULTS, overBytes: 10_000, prefix: 'gateway/' })],
})
export const { McpSession: ResultsGatewaySession } = gated
const byDefault = serve(server, {
  path: '/default/mcp',
  plugins: [resultStore({ bucket: RESULTS, prefix: 'default/' })],
})
const generic = serve(server, {
  path: '/generic/mcp',
  durableObjects: { names: { McpSession: 'ResultsGenericSession' } },
  handlerErrors: 'generic',
  onError: (error, { errorId, params }) => console.log(`onError ${errorId} ${params.name} ${(error as Error).message}`),
  plugins: [sessions(), resultStore({ bucket: RESULTS, prefix: 'generic/' })],
})
export const { McpSession: ResultsGenericSession } = generic
const storeless = serve(server, {
  path: '/storeless/mcp',
  durableObjects: { names: { McpSession: 'ResultsStorelessSession' } },
  onError: (error, { params }) => console.log(`onError ${params.name} ${(error as Error).message}`),
  plugins: [sessions()],
})
export const { McpSession: ResultsStorelessSession } = storeless
/** Endpoints that share a prefix. */
const twins = ['twin', 'other', 'another'].map((name) =>
  serve(server, {
    path: `/${name}/mcp`,
    ...(name !== 'twin' && { identity: 'same' }),
    plugins: [resultStore({ bucket: RESULTS, prefix: 'default/' })],
  }),
)
export default combine(generic, stored, expired, broken, upstream, gated, byDefault, storeless, ...twins)
