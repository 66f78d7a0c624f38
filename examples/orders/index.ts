import { env } from 'cloudflare:workers'
import { createServer, serve, ToolError } from 'edgemcp'
import { bearer } from 'edgemcp/auth'
import { event, events } from 'edgemcp/events'
import { page } from 'edgemcp/page'
import { sessions } from 'edgemcp/sessions'
import * as z from 'zod'

const { ISSUER } = env as { ISSUER: string }

const server = createServer({ name: 'orders', title: 'Orders', version: '1.0.0' })

const Order = z.object({
  id: z.string().regex(/^[\w-]{1,64}$/, 'use letters, digits, _ and -'),
  shop: z.string().min(1).max(64),
  total: z.number().positive(),
})

const orderPaid = event('order.paid', {
  description: 'An order of yours was paid. Subscribe to it to send a receipt.',
  inputSchema: z.strictObject({ shop: z.string().describe('The shop whose orders you want to know of') }),
  payloadSchema: Order,
  matches: ({ shop }, order) => order.shop === shop,
})

server.tool(
  'pay_order',
  { description: 'Pays an order', inputSchema: Order, annotations: { idempotentHint: true } },
  async (order, { principal }) => {
    if (!principal) throw new ToolError('Sign in first')
    // A call that the client repeats publishes the same event, which its agent receives once.
    await orderPaid.publish(order, { user: principal }, { id: `paid-${order.id}`, key: order.shop })
    return `Paid ${order.total} EUR for ${order.id}.`
  },
)

const worker = serve(server, {
  auth: bearer({ issuer: ISSUER }),
  plugins: [sessions(), page(), events([orderPaid])],
})
export default worker
export const { McpSession, McpEvents } = worker
