/** A server that gives out no sessions, and has no Durable Objects. */
import { createServer, serve } from 'edgemcp'
import * as z from 'zod'

const server = createServer({ name: 'without-sessions', version: '1.0.0' })

server.tool('echo', { description: 'Echoes', inputSchema: z.object({ text: z.string() }) }, ({ text }) => text)
server.tool('steps', { description: 'Reports progress' }, async (_, ctx) => {
  await ctx.progress(1, 2)
  return 'done'
})
server.tool('ask', { description: 'Asks' }, async (_, ctx) => {
  const answer = await ctx.elicit('name', 'Name?', z.object({ name: z.string() }))
  return answer.action
})
server.resource('note://{id}', { description: 'Notes' }, ({ id }) => `note ${id}`)

export default serve(server)
