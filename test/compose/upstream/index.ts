/** A server that others stand before. */
import { createServer, McpError, serve } from 'edgemcp'
import * as z from 'zod'

const server = createServer({ name: 'upstream', version: '1.0.0', pageSize: 2 })
let calls = 0
server.tool('echo', { description: 'Says it', input: z.object({ text: z.string() }) }, ({ text }) => text)
server.tool('who', { description: 'Who calls' }, (_, ctx) => `${ctx.principal?.subject} ${ctx.meta.traceparent ?? ''}`)
server.tool('asks', { description: 'Asks twice' }, async (_, ctx) => {
  const Name = z.object({ name: z.string() })
  await ctx.once('call', () => {
    calls += 1
  })
  const one = await ctx.elicit('name', 'Your name?', Name)
  const other = await ctx.elicit('other', 'Another?', Name)
  return `${one.content?.name} and ${other.content?.name}, ${calls}`
})
server.tool('refuses', { description: 'Refuses' }, () => {
  throw new McpError('invalid_params', 'Not so', { reason: 'test' })
})
server.tool('fails', { description: 'Fails' }, () => {
  throw new Error('It broke')
})

const worker = serve(server, {
  auth: {
    async authenticate(request) {
      const subject = request.headers.get('X-Name') ?? undefined
      return subject ? { issuer: 'https://names.example', subject, scopes: [], claims: {} } : undefined
    },
  },
})
export default worker
export const { McpSession, McpUpdates } = worker
