import { env } from 'cloudflare:workers'
import { createServer, serve, ToolError } from 'edgemcp'
import { bearer } from 'edgemcp/auth'
import { event, events } from 'edgemcp/events'
import { sessions } from 'edgemcp/sessions'
import * as z from 'zod'

const server = createServer({ name: '{{name}}', version: '1.0.0' })

const Order = z.object({
  id: z.string().regex(/^[\w-]{1,64}$/, 'use letters, digits, _ and -'),
  shop: z.string().min(1).max(64),
  total: z.number().positive(),
})

const orderPaid = event('order.paid', {
  description: 'An order of the user was paid. Subscribe to it to send a receipt.',
  inputSchema: z.strictObject({ shop: z.string().describe('The shop whose orders you want to know of') }),
  payloadSchema: Order,
  matches: ({ shop }, order) => order.shop === shop,
})

server.tool(
  'pay_order',
  { description: 'Pays an order', inputSchema: Order, scopes: [], annotations: { idempotentHint: true } },
  async (order, { principal }) => {
    if (!principal) throw new ToolError('Sign in first')
    // Replace this with real work. An event with the same id reaches the agents of the user once.
    await orderPaid.publish(order, { user: principal }, { id: `paid-${order.id}` })
    return `Paid ${order.total} EUR for ${order.id}.`
  },
)

const worker = serve(server, {
  handlerErrors: 'generic',
  auth: bearer({
    issuer: env.ISSUER,
    ...(env.KEYS ? { keys: JSON.parse(env.KEYS) } : {}),
    // Without `reauthorize`, an agent subscribes again each hour.
  }),
  // No web page calls this server.
  origins: [],
  plugins: [sessions(), events([orderPaid])],
})
export default worker
export const { McpSession, McpEvents } = worker
