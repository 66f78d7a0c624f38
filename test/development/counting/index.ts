/** Counts calls and keeps state, without the class that does so. */
import { createServer, serve } from 'edgemcp'
import { rateLimit } from 'edgemcp/rate-limit'
import { sessions } from 'edgemcp/sessions'
import { state } from 'edgemcp/state'

const basket = state('basket', { per: 'handle', ttl: 60_000 }, (store) => ({ add: () => store.put('bread', 1) }))

const server = createServer({ name: 'counting', version: '1.0.0' })
server.tool('greet', { description: 'Greets', rateLimit: { quota: '5/d', rate: '3/m' } }, () => 'Hello')
server.tool('new_basket', { description: 'Makes a basket' }, (_, ctx) => ctx.createHandle(basket))

const worker = serve(server, {
  plugins: [sessions(), rateLimit({ rate: '600/m' })],
  durableObjects: { names: { McpState: 'Counters' } },
})

export default worker
export const { McpSession } = worker
