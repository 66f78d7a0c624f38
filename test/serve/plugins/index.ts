/** A server with plugins of its own, and the same server at another endpoint without them. */
import { DurableObject } from 'cloudflare:workers'
import { createServer, McpError, type Outcome, type Plugin, serve } from 'edgemcp'
import { combine } from 'edgemcp/compose'
import { sessions } from 'edgemcp/sessions'
import { tasks } from 'edgemcp/tasks'
import * as z from 'zod'

class Counts extends DurableObject {
  async add(name: string): Promise<void> {
    const { kv } = this.ctx.storage
    kv.put(name, (kv.get<number>(name) ?? 0) + 1)
  }

  async all(): Promise<Record<string, number>> {
    return Object.fromEntries(this.ctx.storage.kv.list<number>())
  }
}
type CountsRpc = Pick<Counts, 'add' | 'all'>

/** Adds a word to the text of a tool's result. */
function signed(outcome: Outcome, word: string): Outcome {
  if (outcome.type !== 'result') return outcome
  const [{ text } = { text: '' }] = (outcome.result.content ?? []) as { text: string }[]
  return { ...outcome, result: { ...outcome.result, content: [{ type: 'text', text: `${text}, ${word}` }] } }
}

const signing = (name: string): Plugin => ({
  name,
  interceptor: () => async (call, next) => {
    const outcome = await next()
    return call.method === 'tools/call' ? signed(outcome, name) : outcome
  },
})

/** Stands before tasks(), which wraps the same method. */
const marking: Plugin = {
  name: 'marking',
  methods: () => ({
    'tools/call': (inner) => ({
      offered: (declarations, environment) => inner?.offered(declarations, environment) ?? false,
      async answer(context) {
        const result = (await inner?.answer(context)) ?? {}
        return { ...result, _meta: { marked: true } }
      },
    }),
  }),
}

const wrapping: Plugin = {
  name: 'wrapping',
  methods: () => ({
    'tools/list': (inner) => ({
      offered: (declarations, environment) => inner?.offered(declarations, environment) ?? false,
      async answer(context) {
        const result = await inner?.answer(context)
        const tools = (result?.tools ?? []) as { description: string }[]
        return { ...result, tools: tools.map((tool) => ({ ...tool, description: `Wrapped: ${tool.description}` })) }
      },
    }),
    'plugins/read': () => ({
      offered: () => true,
      answer: async ({ call }) => ({ read: String(call.params.name) }),
    }),
  }),
}

const counting: Plugin<{ PluginCounts: typeof Counts }> = {
  name: 'counting',
  interceptor:
    ({ object }) =>
    async (call, next) => {
      if (call.method === 'tools/call') await object<CountsRpc>('PluginCounts', 'all').add(String(call.params.name))
      return next()
    },
  routes: ({ object }) => [
    {
      path: '/counts',
      methods: ['GET'],
      handle: async () => Response.json(await object<CountsRpc>('PluginCounts', 'all').all()),
    },
  ],
  objects: { PluginCounts: () => Counts },
}

const routing: Plugin = {
  name: 'routing',
  routes: () => [
    { path: '/up', methods: ['GET'], handle: () => new Response('up') },
    {
      path: '/throws',
      methods: ['GET'],
      handle() {
        throw new Error('It broke')
      },
    },
    {
      path: '/internal',
      methods: ['GET'],
      handle() {
        throw new McpError('internal_error', 'It broke')
      },
    },
    {
      path: '/forbidden',
      methods: ['GET'],
      handle() {
        throw new McpError('forbidden', 'Not you')
      },
    },
    { path: '/redirects', methods: ['GET'], handle: () => Response.redirect('https://elsewhere.example/', 302) },
    { path: '/nothing', methods: ['GET'], handle: (() => undefined) as never },
  ],
}

/** Changes an argument in another way each time. */
const shouting: Plugin = {
  name: 'shouting',
  interceptor:
    () =>
    ({ method, params }, next) => {
      if (method !== 'tools/call' || params.name !== 'work') return next()
      const { words } = params.arguments as { words: string }
      return next({ ...params, arguments: { words: `${words}!` } })
    },
}

const server = createServer({ name: 'plugins', version: '1.0.0' })
const Words = z.object({ words: z.string() })
server.tool('work', { description: 'Repeats words', inputSchema: Words, task: true }, ({ words }) => words)
server.tool('hi', { description: 'Says hi' }, () => 'hi')
server.intercept(async (call, next) => {
  const outcome = await next()
  return call.method === 'tools/call' ? signed(outcome, 'server') : outcome
})

function problems(): string[] {
  const empty = createServer({ name: 'empty', version: '1.0.0' })
  const plugins: Plugin[] = [
    {
      name: 'needs tools',
      validate({ declarations }) {
        if (declarations.tools.size === 0) throw new Error('There are no tools')
      },
    },
    { name: 'late', validate: (async () => {}) as never },
    { name: 'slip', intercepter: () => {} } as never,
    { name: 'path', routes: () => [{ path: 'metrics', methods: ['GET'], handle: () => new Response() }] },
    { name: 'taken', routes: () => [{ path: '/mcp', methods: ['GET'], handle: () => new Response() }] },
  ]
  return plugins.map((plugin) => {
    try {
      serve(empty, { plugins: [plugin], path: '/mcp' })
      return ''
    } catch (problem) {
      return (problem as Error).message
    }
  })
}
const found = problems()

const worker = serve(server, {
  plugins: [sessions(), signing('first'), signing('second'), marking, shouting, tasks(), wrapping, counting, routing],
})
const plain = serve(server, { path: '/plain/mcp' })
const guarded = serve(server, {
  path: '/guarded/mcp',
  durableObjects: { names: { McpSession: 'GuardedSession' } },
  plugins: [
    sessions(),
    {
      name: 'guard',
      interceptor: () => (call, next) => {
        if (call.method === 'tools/call') throw new McpError('forbidden', 'The guard says no')
        return next()
      },
    },
  ],
})

export default combine(
  (request: Request) => (new URL(request.url).pathname === '/problems' ? Response.json(found) : undefined),
  plain,
  guarded,
  worker,
)
export const { McpSession, McpTask, PluginCounts } = worker
export const { McpSession: GuardedSession } = guarded
