/** Results as large as a caller wants, at endpoints with different limits. */
import { createServer, type Plugin, type ServeOptions, serve } from 'edgemcp'
import { combine } from 'edgemcp/compose'
import { sessions } from 'edgemcp/sessions'
import { tasks } from 'edgemcp/tasks'
import * as z from 'zod'

const server = createServer({ name: 'sized', version: '1.0.0' })
const inputSchema = z.object({ characters: z.number(), logs: z.boolean().default(false) })
type Input = z.infer<typeof inputSchema>

server.tool('fill', { description: 'Fills a result', inputSchema, task: true }, ({ characters, logs }: Input, ctx) => {
  if (logs) ctx.log('info', 'a message, so that the response is a stream')
  return 'ä'.repeat(characters)
})
server.resource('fill://{characters}', { description: 'Fills a resource' }, ({ characters }) =>
  'x'.repeat(Number(characters)),
)
server.prompt(
  'fill',
  { description: 'Fills a prompt', argsSchema: z.object({ characters: z.string() }) },
  ({ characters }) => 'x'.repeat(Number(characters)),
)

let seen: string[] = []
const seeing: Plugin = {
  name: 'seeing',
  routes: () => [
    {
      path: '/seen',
      methods: ['POST'],
      handle: () => {
        const answer = Response.json(seen)
        seen = []
        return answer
      },
    },
  ],
}
const onError: ServeOptions['onError'] = (error) => void seen.push((error as Error).message) // every error here is one

const small = serve(server, {
  path: '/small/mcp',
  limits: { maxResultBytes: 10_000 },
  handlerErrors: 'generic',
  onError,
  durableObjects: { names: { McpSession: 'SmallSession', McpTask: 'SmallTask' } },
  plugins: [sessions(), seeing, tasks()],
})
const plain = serve(server, {
  path: '/plain/mcp',
  durableObjects: { names: { McpSession: 'PlainSession' } },
  plugins: [sessions()],
})
const unlimited = serve(server, {
  path: '/unlimited/mcp',
  limits: { maxResultBytes: Number.POSITIVE_INFINITY },
  durableObjects: { names: { McpSession: 'UnlimitedSession' } },
  plugins: [sessions()],
})
export const { McpSession: SmallSession, McpTask: SmallTask } = small
export const { McpSession: PlainSession } = plain
export const { McpSession: UnlimitedSession } = unlimited
export default combine(small, plain, unlimited)
