/** A server whose streams end after a fifth of a second. */
import { createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'
import * as z from 'zod'

const server = createServer({ name: 'aged', version: '1.0.0' })
const note = server.resource('note://{id}', { description: 'A note' }, ({ id }) => id)
server.tool(
  'change',
  { description: 'Changes a note', inputSchema: z.object({ id: z.string() }) },
  async ({ id }) => void (await note.updated({ id })),
)
server.tool(
  'walk',
  { description: 'Sends progress slowly', inputSchema: z.object({ steps: z.number() }) },
  async ({ steps }, ctx) => {
    for (let step = 1; step <= steps; step += 1) {
      ctx.progress(step, steps)
      await scheduler.wait(50)
    }
    return 'arrived'
  },
)

const worker = serve(server, { limits: { maxStreamAgeMs: 200 }, plugins: [sessions(), subscriptions({ shards: 4 })] })
export default worker
export const { McpSession, McpSubscriptions } = worker
