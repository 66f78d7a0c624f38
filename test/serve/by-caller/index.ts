/** A server whose lists, calls, completions and instructions depend on the caller. A token is the base64 of its claims. */
import { type } from 'arktype'
import { type Caller, createServer, type HttpRequest, type StandardSchema, serve } from 'edgemcp'
import { bearer } from 'edgemcp/auth'
import { mount } from 'edgemcp/compose'
import { jsonSchema } from 'edgemcp/json-schema'
import { sessions } from 'edgemcp/sessions'
import { type Store, state } from 'edgemcp/state'
import { subscriptions } from 'edgemcp/subscriptions'
import * as z from 'zod'

declare module 'edgemcp' {
  interface RequestContext {
    readonly plan?: string | undefined
  }
}

const server = createServer({
  name: 'by-caller',
  version: '1.0.0',
  jsonSchema,
  caching: { ttlMs: 1000, cacheScope: 'public' },
  instructions: ({ principal, client, protocolVersion, requestContext, request }) =>
    `${principal?.subject} ${client?.name} ${protocolVersion} ${requestContext.plan} ${request?.method}`,
})

const isPro = ({ requestContext }: Caller) => requestContext.plan === 'pro'
const text = () => 'done'

server.tool(
  'ask',
  { description: 'Asks', visibleTo: ({ supports }) => supports('elicitation'), scopes: [] },
  async (_, ctx) => (await ctx.elicit('sure', 'Sure?', z.object({}))).action,
)
server.tool('sample', { description: 'Samples', visibleTo: ({ supports }) => supports('sampling') }, text)
server.tool('pro', { description: 'Of one plan', visibleTo: isPro }, text)
server.tool(
  'old',
  { description: 'Of old clients', visibleTo: ({ protocolVersion = '' }) => protocolVersion < '2026' },
  text,
)
server.tool('named', { description: 'Of one client', visibleTo: ({ client }) => client?.name === 'named' }, text)
server.tool(
  'beta',
  { description: 'Of requests with a header', visibleTo: ({ request }) => request?.headers.get('X-Beta') === 'yes' },
  text,
)
server.tool(
  'mirrored',
  {
    description: 'Has a parameter that headers repeat, for one plan',
    visibleTo: isPro,
    inputSchema: { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } },
  },
  text,
)
server.tool('secured', { description: 'Needs a scope, for one plan', visibleTo: isPro, scopes: ['admin'] }, text)

server.tool(
  'secured_old',
  {
    description: 'Needs a scope, for clients of 2025-11-25',
    visibleTo: ({ protocolVersion }) => protocolVersion === '2025-11-25',
    scopes: ['admin'],
  },
  text,
)
server.tool(
  'secured_default',
  {
    description: 'Needs a scope, for clients of the version of a request that states none',
    visibleTo: ({ protocolVersion }) => protocolVersion === '2025-03-26',
    scopes: ['admin'],
  },
  text,
)

/** How often a schema was compiled. */
let compiled = 0
const csv = z.object({ format: z.enum(['csv']) })
const formats = {
  free: {
    '~standard': {
      ...csv['~standard'],
      jsonSchema: {
        ...csv['~standard'].jsonSchema,
        input: () => {
          compiled += 1
          return { type: 'object', properties: { format: { enum: ['csv'] } }, required: ['format'] }
        },
      },
    },
  } satisfies StandardSchema<{ format: 'csv' }>,
  pro: z.object({ format: z.enum(['csv', 'xlsx']), pages: z.number().default(1) }),
  header: {
    type: 'object',
    properties: { format: { type: 'string', 'x-mcp-header': 'Format' } },
    required: ['format'],
  } as const,
  wrong: z.string() as never,
}
server.tool(
  'export',
  {
    description: 'Exports in the formats of the plan',
    annotations: { readOnlyHint: true },
    inputSchema: async ({ requestContext }) => {
      switch (requestContext.plan) {
        case 'pro':
          return formats.pro
        case 'header':
          return formats.header
        case 'wrong':
          return formats.wrong
        default:
          return formats.free
      }
    },
  },
  (input) => JSON.stringify(input),
)
server.tool('compiled', { description: 'Counts' }, () => String(compiled))
server.tool(
  'callable',
  { description: 'Has a schema that is a function', inputSchema: type({ word: 'string' }) },
  ({ word }) => word,
)

const shown = (request: HttpRequest | undefined) =>
  request && {
    method: request.method,
    path: new URL(request.url).pathname,
    header: request.headers.get('X-Test'),
    address: request.address,
  }
server.tool('request', { description: 'Returns the HTTP request' }, async (_, { request, requestContext }) =>
  JSON.stringify({ request: shown(request), plan: requestContext.plan }),
)
server.tool('request_after', { description: 'Asks, then returns the HTTP request' }, async (_, ctx) => {
  await ctx.elicit('sure', 'Sure?', z.object({}))
  return JSON.stringify(shown(ctx.request))
})

server.prompt('pro', { description: 'Of one plan', visibleTo: isPro, complete: {} }, () => 'prompt')
server.resource('pro://fixed', { description: 'Of one plan', visibleTo: isPro }, () => 'resource')

const owned = state('owned_notes', { per: 'user', ttl: 60_000 }, (store: Store<{ ids: string[] }>) => ({
  all: () => store.get('ids') ?? [],
  add: (id: string) => store.put('ids', [...(store.get('ids') ?? []), id]),
}))
server.tool(
  'add_note',
  { description: 'Adds a note', inputSchema: z.object({ id: z.string() }) },
  async ({ id }, ctx) => {
    await ctx.state(owned).add(id)
  },
)
server.resource(
  'note://{id}',
  {
    description: 'A note of the user',
    visibleTo: ({ principal }) => principal !== undefined,
    list: async ({ state, signal }) => (signal.aborted ? [] : (await state(owned).all()).map((id) => ({ id }))),
    authorize: async ({ state }, { id }) => (await state(owned).all()).includes(id),
    complete: { id: async (_, __, { state }) => [...(await state(owned).all()), 'of somebody else'] },
  },
  ({ id }) => `Note ${id}`,
)
server.resource(
  'unfiltered://{id}',
  {
    description: 'Nobody may read one',
    authorize: () => false,
    filterCompletions: false,
    complete: { id: () => ['unreadable'] },
  },
  ({ id }) => id,
)
server.resource(
  'session://{id}',
  {
    description: 'Listed by the session of the caller',
    list: ({ session, client }) => [{ id: `${client?.name} ${session === undefined ? 'none' : 'one'}` }],
  },
  ({ id }) => id,
)

const part = createServer({ name: 'part', version: '1.0.0' })
part.tool('pro', { description: 'Of one plan', visibleTo: isPro }, (_, { requestContext }) => `${requestContext.plan}`)
server.use(mount(part, { prefix: 'part_' }))

const worker = serve(server, {
  auth: bearer({ verify: (token) => JSON.parse(atob(token)), allowAnonymous: true }),
  plugins: [sessions(), subscriptions()],
  requestContext: (request) => ({ plan: request.headers.get('X-Plan') ?? undefined }),
})
export default worker
export const { McpSession, McpSubscriptions } = worker
export { McpState } from 'edgemcp/state'
