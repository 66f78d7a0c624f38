/** The server whose requests `npm run hops` traces. */
import { createServer, serve } from 'edgemcp'
import { subscriptions } from 'edgemcp/subscriptions'
import { tasks } from 'edgemcp/tasks'
import * as z from 'zod'

const server = createServer({ name: 'hops', version: '1.0.0' })
server.tool('echo', { description: 'Echoes', inputSchema: z.object({ text: z.string() }) }, ({ text }) => text)
server.tool('ask', { description: 'Asks for a word' }, async (_, ctx) => {
  const answer = await ctx.elicit('word', 'A word?', z.object({ word: z.string() }))
  return answer.action === 'accept' ? answer.content.word : answer.action
})
server.tool('work', { description: 'A task', task: true }, () => 'done')

const worker = serve(server, { plugins: [subscriptions(), tasks()] })

export default {
  async fetch(request, env, ctx) {
    const { pathname } = new URL(request.url)
    if (pathname === '/trace') return Response.json(globalThis.trace)
    if (pathname !== '/reset') return worker.fetch(request, env, ctx)
    globalThis.trace.length = 0
    return new Response()
  },
} satisfies ExportedHandler
export const { McpSession, McpSubscriptions, McpTask } = worker

declare global {
  /** The file of each function that was called, in order. */
  var trace: string[]
}
