/** Tools whose input requests may be answered with tasks of the client. */
import { createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { tasks } from 'edgemcp/tasks'
import { withTestClock } from 'edgemcp/testing/timed'
import * as z from 'zod'

const server = createServer({ name: 'by-client', version: '1.0.0' })
let effects = 0

server.tool('summarize', { description: 'Lets the client work on a message' }, async (_, ctx) => {
  const count = await ctx.once('count', () => ++effects)
  const { text } = await ctx.sample('summary', { prompt: 'Summarize', maxTokens: 9 }, { task: { ttl: '1h' } })
  return `${text}, ${effects - count} more effects`
})
server.tool('confirm', { description: 'Lets the user think' }, async (_, ctx) => {
  const form = z.object({ sure: z.boolean() })
  const { action, content } = await ctx.elicit('sure', 'Sure?', form, { task: {}, timeout: '1h' })
  return `${action} ${content?.sure}`
})
server.tool('visit', { description: 'Sends the user to a page' }, async (_, ctx) => {
  const { action } = await ctx.elicitUrl('page', 'Visit', 'https://example.com/', { task: { ttl: '2h' } })
  return action
})
server.tool('plain', { description: 'Requests a message without a task' }, async (_, ctx) => {
  const { text } = await ctx.sample('summary', { prompt: 'Summarize', maxTokens: 9 })
  return text
})

server.tool('salaries', { description: 'Lets the client read salaries', scopes: ['hr.read'] }, async (_, ctx) => {
  const { text } = await ctx.sample('summary', { prompt: 'ada: 9', maxTokens: 9 }, { task: {} })
  return text
})

const worker = serve(server, {
  auth: {
    allowAnonymous: true,
    /** `Bearer hr.read` is Ada with this scope, `Bearer none` Ada without a scope. */
    async authenticate(request) {
      const [, scope] = /^Bearer (.+)$/.exec(request.headers.get('Authorization') ?? '') ?? []
      return scope ? { issuer: 'https://names.example', subject: 'ada', scopes: [scope], claims: {} } : undefined
    },
  },
  plugins: [sessions(), tasks()],
})
const timed = withTestClock({ default: worker, ...worker })
export default timed.default
export const { McpSession, McpTask } = timed
