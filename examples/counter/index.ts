import { createServer, serve } from 'edgemcp'
import { page } from 'edgemcp/page'
import * as z from 'zod'

const server = createServer({ name: 'counter', version: '1.0.0' })
let total = 0

server.tool('count', { description: 'Counts up, after asking how far', singleUse: true }, async (_, ctx) => {
  const amount = await ctx.elicit('amount', 'Count up by how much?', z.object({ by: z.int().min(1).max(100) }))
  if (amount.action !== 'accept') return 'Nothing was counted.'
  const sure = await ctx.elicit('sure', `Really by ${amount.content.by}?`, z.object({ sure: z.boolean() }))
  if (!sure.content?.sure) return 'Nothing was counted.'
  total = await ctx.once('count', () => total + amount.content.by)
  return `The count is ${total}.`
})

const worker = serve(server, { plugins: [page()] })
export default worker
export const { McpSession } = worker
