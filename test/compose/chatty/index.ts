/** An upstream without sessions whose tools report progress and log. */
import { createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import * as z from 'zod'

const server = createServer({ name: 'chatty', version: '1.0.0' })

server.tool('work', { description: 'Reports progress and logs' }, (_, ctx) => {
  ctx.log('debug', 'step 1')
  ctx.progress(1, 2, 'half')
  ctx.log('warning', { step: 2 }, 'db')
  ctx.progress(2, 2)
  return 'done'
})

server.tool('ask', { description: 'Reports progress and logs around a form' }, async (_, ctx) => {
  ctx.progress(1, 3)
  ctx.log('info', 'before')
  const { content } = await ctx.elicit('name', 'Your name?', z.object({ name: z.string() }))
  ctx.progress(2, 3)
  ctx.log('info', 'after')
  return `Hello, ${content?.name}`
})

const worker = serve(server, { plugins: [sessions()] })
export default worker
export const { McpSession } = worker
