/** Handlers that throw, hang or return what is no result. "secret" is in everything that only the server may know. */

import { env } from 'cloudflare:workers'
import { McpError as SdkMcpError } from '@modelcontextprotocol/sdk/types.js'
import {
  createServer,
  McpError,
  type Plugin,
  resourceLink,
  type ServeOptions,
  serve,
  ToolError,
  toolResult,
} from 'edgemcp'
import { bearer } from 'edgemcp/auth'
import { combine, proxy } from 'edgemcp/compose'
import { extension } from 'edgemcp/extensions'
import { jsonSchema } from 'edgemcp/json-schema'
import { openApiTools, parseOpenApi } from 'edgemcp/openapi'
import { rateLimit } from 'edgemcp/rate-limit'
import { converse } from 'edgemcp/sampling'
import { sessions } from 'edgemcp/sessions'
import { state } from 'edgemcp/state'
import { tasks } from 'edgemcp/tasks'
import * as z from 'zod'

const server = createServer({
  name: 'failing',
  version: '1.0.0',
  jsonSchema,
  instructions({ client }) {
    if (client?.name === 'uninstructed') throw new Error('secret instructions')
    return undefined
  },
})

/** As a handler in JavaScript might do it: types refuse it. */
const untyped = (value: unknown) => value as string

const throwing = (value: unknown) => () => {
  throw value
}
const hostile = new Proxy(new Error('secret of a proxy'), {
  get: throwing(new Error('secret of a trap')),
  getPrototypeOf: throwing(new Error('secret of a trap')),
  ownKeys: throwing(new Error('secret of a trap')),
})
const recurse = (depth: number): number => recurse(depth + 1) + 1
const cycle: Record<string, unknown> = { secret: true }
cycle.self = cycle
let deep: unknown[] = []
for (let depth = 0; depth < 200_000; depth += 1) deep = [deep]

/** An error whose kind is none. */
class UnlikeError extends McpError {
  override readonly kind = 'not_found' as never
}
/** An error that throws when its kind is read. */
const unreadable = Object.defineProperty(new McpError('invalid_params', 'secret'), 'kind', {
  get: throwing(new Error('secret kind')),
})

const handlers: Record<string, () => unknown> = {
  kind: () => throwing(new McpError('not_found' as never, 'secret message'))(),
  inherited: () => throwing(new McpError('toString' as never, 'secret message'))(),
  numeric: () => throwing(new McpError(-32602 as never, 'secret message'))(),
  foreign: throwing(new SdkMcpError(-32602, 'secret message')),
  error: throwing(new Error('secret message', { cause: new Error('secret cause') })),
  later: async () => {
    await Promise.resolve()
    throw new TypeError('secret, later')
  },
  string: throwing('secret text'),
  object: throwing({ toString: () => 'secret object' }),
  like: throwing({ name: 'Error', message: 'secret like an error' }),
  undefined: throwing(undefined),
  null: throwing(null),
  aggregate: throwing(new AggregateError([new Error('secret part')], 'secret parts')),
  dom: throwing(new DOMException('secret operation', 'DataCloneError')),
  getter: throwing(Object.defineProperty(new Error(), 'message', { get: throwing(new Error('secret getter')) })),
  proxy: throwing(hostile),
  response: () => throwing(new Response('secret response'))(),
  empty: throwing(new Error('')),
  frozen: throwing(Object.freeze(new Error('secret frozen'))),
  recursion: () => recurse(0),
  bigint: () => ({ secret: 10n }),
  cycle: () => cycle,
  deep: () => deep,
  map: () => new Map([['secret', 1]]),
  forgotten: () => ({ secret: Promise.resolve(1) }),
  toJSON: () => ({ toJSON: throwing(new Error('secret toJSON')) }),
  thenable: () => ({
    // biome-ignore lint/suspicious/noThenProperty: what a handler might return
    get then() {
      throw new Error('secret then')
    },
  }),
  meta: () => toolResult({ content: [], _meta: { toJSON: throwing(new Error('secret meta')) } }),
  size: () => resourceLink('a:b', { name: 'secret', size: untyped('secret') as never }),
  toolError: throwing(new ToolError('for the model')),
  params: throwing(new McpError('invalid_params', 'for the client')),
  data: throwing(new McpError('invalid_params', 'with data', { size: 10n })),
  internal: throwing(new McpError('internal_error', 'for all')),
  unavailable: throwing(new McpError('unavailable', 'for all, later')),
  headers: throwing(new McpError('invalid_params', 'with headers', undefined, { 'Retry-After': '7' })),
}
for (const [name, handler] of Object.entries(handlers)) {
  server.tool(name, { description: 'Fails' }, async () => untyped(await handler()))
}
server.tool(
  'overridden',
  { description: 'Throws an error of no kind' },
  throwing(new UnlikeError('invalid_params', 'secret')),
)
server.tool('unreadable', { description: 'Throws an error whose kind throws' }, throwing(unreadable))
server.tool('sync', { description: 'Throws at once' }, throwing(new Error('secret, at once')))
const Output = z.object({ total: z.literal('expected') })
server.tool('mismatch', { description: 'Returns other data', outputSchema: Output }, () => ({
  total: untyped('secret total') as 'expected',
}))
server.tool('twice', { description: 'Uses a key twice' }, async (_, ctx) => {
  await ctx.once('secret', () => 'never')
  return `${await ctx.once('secret', () => 2)}`
})
const modelTool = (execute: () => unknown) => ({ description: 'd', inputSchema: z.object({}), execute })
server.tool('converses', { description: 'Lets a model call tools that fail' }, async (_, ctx) => {
  const tools = {
    throwing: modelTool(throwing(new Error('secret of a conversation'))),
    unlike: modelTool(() => ({ secret: 10n })),
    toolError: modelTool(throwing(new ToolError('for the model'))),
    params: modelTool(throwing(new McpError('invalid_params', 'for the client'))),
    unavailable: modelTool(throwing(new McpError('unavailable', 'for all, later'))),
  }
  return (await converse(ctx, 'talk', { prompt: 'Go', maxTokens: 9, tools })).text
})
// The Worker has no class McpState.
const visits = state('visits', { per: 'handle', ttl: 60_000 }, () => ({ count: () => 1 }))
server.tool('stateful', { description: 'Uses a state' }, async (_, ctx) =>
  String(await ctx.state(visits, await ctx.createHandle(visits)).count()),
)
const own = state('own', { per: 'user', ttl: 60_000 }, () => ({ count: () => 1 }))
server.tool('anonymous', { description: 'Uses a state of nobody' }, async (_, ctx) =>
  String(await ctx.state(own).count()),
)
server.tool('limited', { description: 'Has a quota', rateLimit: { quota: '5/d' } }, () => 'never')
server.tool('hang', { description: 'Never ends' }, (_, ctx) => {
  ctx.signal.addEventListener('abort', () => {})
  return new Promise<never>(() => {})
})
server.tool('run', { description: 'Fails as a task', task: true }, throwing(new Error('secret of a run')))
server.tool('stored', { description: 'Returns, as a task, what cannot be stored', task: true }, () =>
  toolResult({
    content: [
      Object.assign(resourceLink('a:b', { name: 'b' }), {
        annotations: { other: { toJSON: throwing(new Error('secret meta')) } },
      }),
    ],
  }),
)
server.tool(
  'hidden',
  { description: 'Visible to nobody', visibleTo: throwing(new Error('secret visibleTo')) },
  () => 'x',
)

server.tool('fine', { description: 'Is listed' }, () => 'fine')
server.tool(
  'unschemed',
  { description: 'Has no schema for any caller', inputSchema: throwing(new Error('secret inputSchema')) },
  () => 'never',
)
server.resource('fail://fixed', { description: 'Fails' }, throwing(new Error('secret resource')))
server.resource('fail://wrong', { description: 'Returns what is no content' }, () => untyped({ secret: 1 }))
server.resource(
  'guarded://{id}',
  {
    description: 'Cannot be listed, completed or read',
    list: throwing(new Error('secret list')),
    complete: { id: throwing(new Error('secret completion')) },
    authorize: throwing(new Error('secret authorize')),
  },
  () => 'never',
)
const Refining = z.object({
  value: z.string().refine(() => {
    throw new RangeError('secret of a schema')
  }),
})
server.tool('refining', { description: 'Has a schema that throws', inputSchema: Refining }, () => 'never')
server.prompt('refining', { description: 'Has a schema that throws', argsSchema: Refining }, () => 'never')
server.prompt('failing', { description: 'Fails' }, throwing(new Error('secret prompt')))
server.use(extension('test.example/failing', { methods: { 'failing/now': throwing(new Error('secret method')) } }))

/** An API whose paths fail in different ways: see errors.test.ts. */
const { API } = env as unknown as { API: string }
const pathParameter = [{ in: 'path', name: 'id', required: true, schema: { type: 'string' } }]
const operations = parseOpenApi({
  openapi: '3.1.0',
  paths: Object.fromEntries(
    ['hang', 'no_json', 'at/{id}'].map((path) => [
      `/${path}`,
      { get: { operationId: path.replace('/{id}', ''), parameters: path.endsWith('}') ? pathParameter : [] } },
    ]),
  ),
})
const [hang, ...others] = operations
if (!hang) throw new Error('the document has operations')
const circuitBreaker = { failures: 1, pause: '1h' } as const
const silent = { baseUrl: API, retries: 0, attemptTimeout: 50 }
server.use(openApiTools([hang], { ...silent, prefix: 'api_', circuitBreaker: false }))
server.use(openApiTools([hang], { ...silent, prefix: 'broken_', circuitBreaker }))
const tools = { no_json: { outputSchema: { type: 'object' } } }
server.use(openApiTools(others, { baseUrl: API, prefix: 'api_', tools }))

type Seen = {
  name: string
  message: string
  stack: boolean
  method: string
  entry: unknown
  id: string
  version: string
}
let seen: Seen[] = []
let caught: string[] = []

/** Describes a value that may throw when it is examined. */
function described(error: unknown): Pick<Seen, 'name' | 'message' | 'stack'> {
  try {
    if (!(error instanceof Error)) return { name: typeof error, message: String(error), stack: false }
    return { name: error.name, message: error.message, stack: error.stack?.includes('at ') === true }
  } catch {
    return { name: 'hostile', message: '', stack: false }
  }
}

const onError: ServeOptions['onError'] = async (error, call) => {
  const { method, params, errorId: id, protocolVersion: version } = call
  seen.push({ ...described(error), method, entry: params.name ?? params.uri, id, version })
  if (params.name === 'error') throw new Error('onError itself fails')
}

/** Records what interceptors can catch, and what each answer contains. */
const catching: Plugin = {
  name: 'catching',
  interceptor: () => async (_, next) => {
    try {
      const outcome = await next()
      if (outcome.type === 'result' && 'cause' in outcome && outcome.cause)
        caught.push(described(outcome.cause).message)
      return outcome
    } catch (thrown) {
      caught.push(described(thrown).message)
      throw thrown
    }
  },
  routes: () => [
    {
      path: '/seen',
      methods: ['POST'],
      handle: () => {
        const answer = Response.json({ seen, caught })
        seen = []
        caught = []
        return answer
      },
    },
  ],
}

/** @param name begins the names of its classes */
const endpoint = (name: string, options: ServeOptions, plugins: readonly Plugin[]) =>
  serve(server, {
    path: `/${name.toLowerCase()}/mcp`,
    durableObjects: { names: { McpSession: `${name}Session`, McpTask: `${name}Task` } },
    plugins: [sessions(), ...plugins, rateLimit({ time: '1s' }), tasks()],
    ...options,
  })

/** A gateway whose `fetch` fails: what a service binding throws has the text of another Worker. */
const gateway = createServer({ name: 'gateway', version: '1.0.0' })
gateway.use(
  proxy('https://down.example/mcp', { fetch: async () => throwing(new Error('secret of fetch'))(), retries: 0 }),
)
const proxied = serve(gateway, {
  path: '/proxied/mcp',
  handlerErrors: 'generic',
  onError,
  durableObjects: { names: { McpSession: 'FailingGatewaySession' } },
  plugins: [sessions()],
})
export const { McpSession: FailingGatewaySession } = proxied
const proxiedPlainly = serve(gateway, { path: '/proxied-plainly/mcp' })

/** Functions that throw before a call runs: when its scopes are checked, and when a client connects. */
const guardedServer = createServer({ name: 'guarded', version: '1.0.0' })
const guard = { scopes: ['top'], visibleTo: throwing(new Error('secret visibleTo')) }
guardedServer.tool('scoped', { description: 'd', ...guard }, () => 'never')
guardedServer.prompt('scoped', { description: 'd', ...guard }, () => 'never')
guardedServer.resource('guarded://scoped', { description: 'd', ...guard }, () => 'never')
guardedServer.tool('open', { description: 'd' }, () => 'open')
const guarded = serve(guardedServer, {
  path: '/guarded/mcp',
  handlerErrors: 'generic',
  onError,
  auth: bearer({ verify: () => undefined, allowAnonymous: true }),
  requestContext({ url }) {
    if (url.includes('context=broken')) throw new Error('secret requestContext')
    if (url.includes('context=refused')) throw new McpError('forbidden', 'No such account')
    return {}
  },
  plugins: [
    sessions(),
    {
      name: 'refusing',
      onInitialize({ client }) {
        if (client?.name === 'uninitialized') throw new Error('secret onInitialize')
      },
    },
  ],
  durableObjects: { names: { McpSession: 'FailingGuardedSession' } },
})
export const { McpSession: FailingGuardedSession } = guarded

const catchingOnly = { ...catching, routes: () => [] }
const endpoints = [
  endpoint('Message', { onError }, [catching]),
  endpoint('Generic', { onError, handlerErrors: 'generic' }, [catchingOnly]),
  endpoint('Custom', { handlerErrors: (_, { errorId }) => `Sorry (${errorId})` }, [catchingOnly]),
  endpoint('Broken', { handlerErrors: throwing(new Error('secret of handlerErrors')) }, [catchingOnly]),
  endpoint('Plain', {}, [catchingOnly]),
]
export const [MessageSession, GenericSession, CustomSession, BrokenSession, PlainSession] = endpoints.map(
  ({ McpSession }) => McpSession,
)
export const [MessageTask, GenericTask, CustomTask, BrokenTask, PlainTask] = endpoints.map(({ McpTask }) => McpTask)

export default combine(...endpoints, proxied, proxiedPlainly, guarded)
