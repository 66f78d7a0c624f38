/** Servers of one Worker that share a key ring and have tools of the same names. */
import { createServer, serve } from 'edgemcp'
import { combine } from 'edgemcp/compose'
import { sessions } from 'edgemcp/sessions'
import { state } from 'edgemcp/state'
import { subscriptions } from 'edgemcp/subscriptions'
import { tasks } from 'edgemcp/tasks'
import * as z from 'zod'

const basket = state('basket', { per: 'handle', ttl: 86_400_000 })

function shop(name: string) {
  const server = createServer({ name, version: '1.0.0', pageSize: 2 })
  server.tool('order', { description: 'Orders', singleUse: true }, async (_, ctx) => {
    const order = await ctx.once('order', () => `order 1 in the books of ${name}`)
    const { action } = await ctx.elicit('sure', 'Really?', z.object({}))
    return `${name} ships ${order}: ${action}`
  })
  server.tool('basket', { description: 'A new basket' }, (_, ctx) => ctx.createHandle(basket))
  server.tool('put', { description: 'Puts', inputSchema: z.object({ basket: z.string() }) }, async (input, ctx) => {
    await ctx.state(basket, input.basket).put('apples', 1)
    return 'put'
  })
  server.tool('pack', { description: 'Packs', task: { required: true } }, async (_, ctx) => ctx.createHandle(basket))
  return server
}

/** Classes of an endpoint. */
const named = (prefix: string) => ({
  names: { McpSession: `${prefix}Session`, McpSubscriptions: `${prefix}Subscriptions`, McpTask: `${prefix}Task` },
})
const euServer = shop('eu')
const usServer = shop('us')

const plugins = [subscriptions(), tasks()] as const
const eu = serve(euServer, { path: '/eu/mcp', plugins: [sessions(), ...plugins] })
const us = serve(usServer, { path: '/us/mcp', plugins: [sessions(), ...plugins], durableObjects: named('Us') })
/** The server of eu once more, at another endpoint. */
const again = serve(euServer, { path: '/again/mcp', plugins: [sessions(), ...plugins], durableObjects: named('Again') })
/** Another endpoint that is the same server, because both say so. */
const blue = serve(euServer, {
  path: '/blue/mcp',
  identity: 'both',
  plugins: [sessions(), ...plugins],
  durableObjects: named('Blue'),
})
const green = serve(euServer, {
  path: '/green/mcp',
  identity: 'both',
  plugins: [sessions(), ...plugins],
  durableObjects: named('Green'),
})

export const { McpSession, McpSubscriptions, McpTask } = eu
export const { McpSession: UsSession, McpSubscriptions: UsSubscriptions, McpTask: UsTask } = us
export const { McpSession: AgainSession, McpSubscriptions: AgainSubscriptions, McpTask: AgainTask } = again
export const { McpSession: BlueSession, McpSubscriptions: BlueSubscriptions, McpTask: BlueTask } = blue
export const { McpSession: GreenSession, McpSubscriptions: GreenSubscriptions, McpTask: GreenTask } = green
export { McpState } from 'edgemcp/state'
export default combine(us, again, blue, green, eu)
