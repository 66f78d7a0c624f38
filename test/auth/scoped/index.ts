/** What takes scopes besides tools. Whoever says a name and scopes is that person with these scopes. */
import { createServer, serve } from 'edgemcp'
import { bearer, securitySchemes } from 'edgemcp/auth'
import { sessions } from 'edgemcp/sessions'
import { McpState, state } from 'edgemcp/state'
import { subscriptions } from 'edgemcp/subscriptions'
import * as z from 'zod'

const server = createServer({ name: 'scoped', version: '1.0.0' })

const carts = state<{ item: string }>('carts', { per: 'handle', ttl: 60_000, scopes: ['carts'] })
const prefs = state<{ color: string }>('prefs', { per: 'user', ttl: 60_000, scopes: ['prefs'] })

server.tool('make_cart', { description: 'Makes a cart', scopes: [] }, (_, ctx) => ctx.createHandle(carts))
server.tool(
  'fill_cart',
  { description: 'Fills a cart', scopes: [], inputSchema: z.object({ cart: z.string() }) },
  async ({ cart }, ctx) => {
    await ctx.state(carts, cart).put('item', 'tea')
    return 'filled'
  },
)
server.tool('prefer', { description: 'Remembers', scopes: [] }, async (_, ctx) => {
  await ctx.state(prefs).put('color', 'red')
  return 'remembered'
})
server.tool('read', { description: 'Reads', scopes: ['read'] }, () => 'read')
server.tool('write', { description: 'Writes', scopes: ['read', 'write'], listWithoutScopes: true }, () => 'written')
server.tool('open', { description: 'For everybody' }, () => 'open')
server.prompt('secret', { description: 'Secret', scopes: ['write'] }, () => 'secret')
const note = server.resource(
  'note://{id}',
  { description: 'Notes', scopes: ['read'], list: () => [{ id: '1' }] },
  ({ id }) => `note ${id}`,
)
server.resource('paper://1', { description: 'A paper' }, () => 'paper')
server.tool('touch', { description: 'Touches' }, async () => {
  await note.updated({ id: '1' })
  await server.notify.resourceUpdated('paper://1')
  return 'touched'
})

const worker = serve(server, {
  auth: bearer({
    verify(token) {
      const [, sub, scope = ''] = /^([a-z]+)((?:~[a-z:_]+)*)$/.exec(token) ?? []
      return sub === undefined ? undefined : { iss: 'https://names.example', sub, scope: scope.replaceAll('~', ' ') }
    },
    impliedScopes: { all: ['write', 'carts'], write: ['read'] },
    allowAnonymous: true,
  }),
  plugins: [sessions(), subscriptions(), securitySchemes()],
})
export default worker
export { McpState }
export const { McpSession, McpSubscriptions } = worker
