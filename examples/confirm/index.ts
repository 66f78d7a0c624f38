import { createServer, serve } from 'edgemcp'
import { page } from 'edgemcp/page'
import { sessions } from 'edgemcp/sessions'
import * as z from 'zod'

const server = createServer({ name: 'confirm', version: '1.0.0' })

const Consent = z.object({ sure: z.boolean().describe('Yes, transfer it') })

server.tool(
  'transfer',
  {
    title: 'Transfer money',
    description: 'Transfers an amount to a recipient, after the user confirms',
    inputSchema: z.object({ to: z.string(), amount: z.number().positive() }),
    annotations: { destructiveHint: true },
    // An answer that is sent again, because its reply was lost, does not charge again.
    singleUse: true,
  },
  async ({ to, amount }, ctx) => {
    if (!ctx.supports('elicitation')) return 'Nothing was transferred: this client cannot ask for your consent.'
    const answer = await ctx.elicit('consent', `Transfer ${amount} to ${to}?`, Consent)
    if (answer.action !== 'accept' || !answer.content.sure) return 'Nothing was transferred.'
    const receipt = await ctx.once('charge', () => crypto.randomUUID())
    const more = await ctx.elicit('thanks', 'Done. A note for the receipt?', z.object({ note: z.string().optional() }))
    const note = more.action === 'accept' ? more.content.note : undefined
    return `Transferred ${amount} to ${to}, receipt ${receipt}${note ? ` (${note})` : ''}.`
  },
)

const worker = serve(server, { plugins: [sessions(), page()] })
export default worker
export const { McpSession } = worker
