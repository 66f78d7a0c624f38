/** A server on which whoever says a name is that person. */
import { createServer, McpError, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'
import * as z from 'zod'

const server = createServer({ name: 'owned', version: '1.0.0', pageSize: 1 })

server.tool('session_id', { description: 'Returns the id of the session' }, (_, ctx) => `${ctx.session?.id}`)
server.tool('who', { description: 'Who asks' }, (_, ctx) => ctx.principal?.subject ?? 'nobody')
server.tool('ask', { description: 'Asks who asks' }, async (_, ctx) => {
  const answer = await ctx.elicit('word', 'A word?', z.object({ word: z.string() }))
  return `${ctx.principal?.subject} says ${answer.action === 'accept' ? answer.content.word : answer.action}`
})
server.tool(
  'admin',
  { description: 'For one person', visibleTo: ({ principal }) => principal?.subject === 'ada' },
  () => 'yes',
)
server.resource(
  'ada://diary',
  { description: "Ada's diary", visibleTo: ({ principal }) => principal?.subject === 'ada' },
  () => 'Dear diary',
)

const worker = serve(server, {
  auth: {
    async authenticate(request) {
      const subject = /^Bearer (ada|bob|eve)$/.exec(request.headers.get('Authorization') ?? '')?.[1]
      if (!subject) throw new McpError('unauthorized', 'Say who you are')
      return { issuer: 'https://names.example', subject, scopes: [], claims: {} }
    },
  },
  plugins: [sessions(), subscriptions()],
})
export default worker
export const { McpSession, McpSubscriptions } = worker
