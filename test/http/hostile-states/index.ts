/** A server that asks, and counts how often a handler began and how often it got past a question. */
import { exports } from 'cloudflare:workers'
import { type Context, createServer, McpError, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { state } from 'edgemcp/state'
import * as z from 'zod'

const server = createServer({ name: 'hostile-states', version: '1.0.0', pageSize: 1 })
const counts = { begun: 0, passed: 0 }

const Word = z.object({ word: z.string().min(1).max(20) })

async function askFor(key: string, ctx: Context): Promise<string> {
  const answer = await ctx.elicit(key, 'A word?', Word)
  counts.passed += 1
  return answer.action === 'accept' ? answer.content.word : answer.action
}

async function says(ctx: Context, keys: readonly string[] = ['word']): Promise<string> {
  counts.begun += 1
  const words: string[] = []
  for (const key of keys) words.push(await askFor(key, ctx))
  return `${ctx.principal?.subject ?? 'nobody'} says ${words.join(' and ')}`
}

const input = z.object({ about: z.unknown().optional() })
for (const single of [false, true]) {
  const name = (plain: string) => (single ? `${plain}_once` : plain)
  server.tool(name('ask'), { description: 'Asks for a word', inputSchema: input, singleUse: single }, (_, ctx) =>
    says(ctx),
  )
  server.tool(name('ask_twice'), { description: 'Asks for two words', singleUse: single }, (_, ctx) =>
    says(ctx, ['first', 'second']),
  )
  server.tool(name('ask_much'), { description: 'Learns much before it asks', singleUse: single }, async (_, ctx) => {
    await ctx.once('much', () => 'much '.repeat(20_000))
    return says(ctx)
  })
}

server.tool(
  'ask_secretly',
  {
    description: 'Asks callers who see it and have a scope',
    singleUse: true,
    scopes: ['secrets'],
    visibleTo: ({ request }) => request?.headers.get('X-Blind') === null,
  },
  (_, ctx) => says(ctx),
)

server.tool('ask_strangely', { description: 'Asks under names that objects have anyway' }, (_, ctx) =>
  says(ctx, ['__proto__', 'constructor', 'toString']),
)

server.tool('ask_both', { description: 'Asks for two words at once' }, async (_, ctx) => {
  counts.begun += 1
  return (await Promise.all([askFor('first', ctx), askFor('second', ctx)])).join(' and ')
})

server.tool('ask_model', { description: 'Asks a model' }, async (_, ctx) => {
  counts.begun += 1
  const { text } = await ctx.sample('word', { prompt: 'A word?', maxTokens: 5 })
  counts.passed += 1
  return text
})

server.tool('ask_roots', { description: 'Asks for folders' }, async (_, ctx) => {
  counts.begun += 1
  const roots = await ctx.roots('word')
  counts.passed += 1
  return roots.map(({ uri }) => uri).join()
})

server.tool('ask_page', { description: 'Sends a person to a page' }, async (_, ctx) => {
  counts.begun += 1
  const { action } = await ctx.elicitUrl('word', 'Go there', 'https://example.com/')
  counts.passed += 1
  return action
})

server.prompt('ask', { description: 'Asks for a word' }, (_, ctx) => says(ctx))
server.resource('ask://{name}', { name: 'ask', description: 'Asks for a word' }, (_, ctx) => says(ctx))

const basket = state('basket', { per: 'handle', ttl: 60_000 })
server.tool('new_handle', { description: 'Makes a handle' }, (_, ctx) => ctx.createHandle(basket))

// A slow machine must not turn a JSON response into an event stream.
const limits = { streamAfterMs: 600_000 }

const closed = serve(server, {
  limits,
  // What differs is who asks.
  identity: 'states',
  auth: {
    async authenticate(request) {
      const subject = /^Bearer (ada|bob)$/.exec(request.headers.get('Authorization') ?? '')?.[1]
      if (!subject) throw new McpError('unauthorized', 'Say who you are')
      const client = request.headers.get('X-Client') ?? undefined
      return {
        issuer: 'https://names.example',
        subject,
        client,
        scopes: request.headers.get('X-Scopes')?.split(' ') ?? [],
        claims: {},
      }
    },
  },
  plugins: [sessions()],
})
const open = serve(server, { limits, path: '/open', identity: 'states' })

export { McpState } from 'edgemcp/state'

export class McpSession extends closed.McpSession {
  /** As if everything had lapsed. */
  async forget(): Promise<void> {
    await this.ctx.storage.deleteAll()
  }
}
const objects = exports as unknown as { McpSession: DurableObjectNamespace<McpSession> }

export default {
  async fetch(request: Request, env: unknown, ctx: ExecutionContext): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname === '/counts') return Response.json(counts)
    if (pathname === '/forget') {
      await objects.McpSession.getByName(`request-state ${searchParams.get('kept')}`).forget()
      return new Response()
    }
    return (pathname === '/open' ? open : closed).fetch(request, env, ctx)
  },
}
