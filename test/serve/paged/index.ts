/** Tools that return pages, to callers who state their names: `Bearer <name>`. */
import { type Context, createServer, McpError, pageCursor, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { tasks } from 'edgemcp/tasks'
import * as z from 'zod'

const server = createServer({ name: 'paged', version: '1.0.0' })
const orders = Array.from({ length: 5 }, (_, index) => `order ${index + 1}`)
const size = 2

const orderPages = pageCursor<{ start: number }>('orders')
const expiredPages = pageCursor<{ start: number }>('expired', { ttl: 0 })
const inputSchema = z.object({ cursor: z.string().optional() })

async function pageOf(pages: typeof orderPages, { cursor }: z.infer<typeof inputSchema>, ctx: Context) {
  const { start } = (await pages.open(ctx, cursor)) ?? { start: 0 }
  const next = start + size
  const page = orders.slice(start, next)
  return { page, nextCursor: next < orders.length ? await pages.seal(ctx, { start: next }) : undefined }
}
const outputSchema = z.object({ page: z.array(z.string()), nextCursor: z.string().optional() })

server.tool('orders', { description: 'Lists orders', inputSchema, outputSchema }, (input, ctx) =>
  pageOf(orderPages, input, ctx),
)
server.tool('expired', { description: 'Returns cursors that have expired', inputSchema, outputSchema }, (input, ctx) =>
  pageOf(expiredPages, input, ctx),
)
server.tool(
  'confirmed',
  { description: 'Lists orders after a confirmation', inputSchema, outputSchema },
  async (input, ctx) => {
    const page = await pageOf(orderPages, input, ctx)
    await ctx.elicit('sure', `Show ${page.page.join()}?`, z.object({ sure: z.boolean() }))
    return page
  },
)
server.tool(
  'later',
  { description: 'Lists orders in a task', inputSchema, outputSchema, task: { required: true } },
  (input, ctx) => pageOf(orderPages, input, ctx),
)

const circle: { self?: unknown } = {}
circle.self = circle
const positions = new Map<string, unknown>([
  ['undefined', undefined],
  ['function', { next: () => 1 }],
  ['bigint', { id: 1n }],
  ['NaN', { start: Number.NaN }],
  ['Map', new Map()],
  ['promise', Promise.resolve(1)],
  ['circle', circle],
  ['null', null],
  ['largest', 'x'.repeat(24_000)],
  ['long', 'x'.repeat(30_000)],
])
const anyPages = pageCursor<unknown>('any')
server.tool(
  'any',
  { description: 'Returns a cursor for a position, and reads it', inputSchema: z.object({ position: z.string() }) },
  async ({ position }, ctx) => {
    const value = positions.get(position)
    const opened = await anyPages.open(ctx, await anyPages.seal(ctx, value))
    return String(JSON.stringify(opened) === JSON.stringify(value))
  },
)

const worker = serve(server, {
  auth: {
    async authenticate(request) {
      const subject = /^Bearer (\w+)$/.exec(request.headers.get('Authorization') ?? '')?.[1]
      if (!subject) throw new McpError('unauthorized', 'The token is missing')
      return { issuer: 'https://names.example', subject, scopes: [], claims: {} }
    },
  },
  plugins: [sessions(), tasks()],
})
export default worker
export const { McpSession, McpTask } = worker
