import { createServer, serve } from 'edgemcp'
import { page } from 'edgemcp/page'
import { sessions } from 'edgemcp/sessions'
import * as z from 'zod'

const server = createServer({ name: 'counter', version: '1.0.0' })
let total = 0

server.tool('count', { description: 'Adds a chosen amount to the count', singleUse: true }, async (_, ctx) => {
  const amount = await ctx.elicit('amount', 'Add how much to the count?', z.object({ by: z.int().min(1).max(100) }))
  if (amount.action !== 'accept') return 'The count did not change.'
  const sure = await ctx.elicit('sure', `Add ${amount.content.by}?`, z.object({ sure: z.boolean() }))
  if (!sure.content?.sure) return 'The count did not change.'
  total = await ctx.once('count', () => total + amount.content.by)
  return `The count is ${total}.`
})

const worker = serve(server, { plugins: [sessions(), page()] })
export default worker
export const { McpSession } = worker
