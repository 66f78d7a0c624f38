/** Endpoints of one server that store, count and cache for their callers. A token is the claims of its principal, as JSON in base64. */
import { env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { apiKeys } from 'edgemcp/api-keys'
import { bearer } from 'edgemcp/auth'
import { combine, proxy } from 'edgemcp/compose'
import { rateLimit } from 'edgemcp/rate-limit'
import { resultStore } from 'edgemcp/results'
import { sessions } from 'edgemcp/sessions'
import { state } from 'edgemcp/state'
import { subscriptions } from 'edgemcp/subscriptions'
import * as z from 'zod'

const { UPSTREAM, RESULTS } = env as unknown as { UPSTREAM: string; RESULTS: R2Bucket }
const states = {
  user: state<{ text: string }>('of_user', { per: 'user', ttl: '1d' }),
  tenant: state<{ text: string }>('of_tenant', { per: 'tenant', ttl: '1d' }),
  everywhere: state<{ text: string }>('everywhere', { per: 'user', ttl: '1d', allEndpoints: true }),
}

const server = createServer({ name: 'owners', version: '1.0.0' })
const inputSchema = z.object({ of: z.enum(['user', 'tenant', 'everywhere']), text: z.string().optional() })
server.tool(
  'state',
  { description: 'Reads and writes a state', inputSchema, scopes: [] },
  async ({ of, text }, ctx) => {
    const opened = ctx.state(states[of])
    const before = await opened.get('text')
    if (text !== undefined) await opened.put('text', text)
    return before ?? 'nothing'
  },
)
server.tool('limited', { description: 'Has a quota', scopes: [], rateLimit: { quota: '1/d' } }, () => 'served')
server.tool('large', { description: 'Returns a large text', scopes: [] }, () => 'x'.repeat(10_000))
server.use(proxy(UPSTREAM, { prefix: 'up_', scopes: [] }))

const auth = bearer({ tenantClaim: 'org', verify: (token) => JSON.parse(atob(token)) })
const plugins = [subscriptions({ listenersEach: 1 }), resultStore({ bucket: RESULTS, overBytes: 4096 })] as const
const keys = { acme: apiKeys(), globex: apiKeys() }

/** Classes of an endpoint. */
const named = (prefix: string) => ({
  names: { McpSession: `${prefix}Session`, McpSubscriptions: `${prefix}Subscriptions` },
})
const one = serve(server, { path: '/one/mcp', auth, plugins: [sessions(), ...plugins, rateLimit()] })
const two = serve(server, {
  path: '/two/mcp',
  auth,
  plugins: [sessions(), ...plugins, rateLimit()],
  durableObjects: named('Two'),
})
const clients = serve(server, {
  path: '/clients/mcp',
  auth,
  plugins: [sessions(), ...plugins, rateLimit({ per: 'client' })],
  durableObjects: named('Clients'),
})
const keyedAt = (name: 'acme' | 'globex') =>
  serve(server, {
    path: `/${name}/mcp`,
    auth: keys[name],
    plugins: [sessions(), ...plugins, rateLimit()],
    durableObjects: named(name),
  })
const acme = keyedAt('acme')
const globex = keyedAt('globex')

export const { McpSession, McpSubscriptions } = one
export const { McpSession: TwoSession, McpSubscriptions: TwoSubscriptions } = two
export const { McpSession: ClientsSession, McpSubscriptions: ClientsSubscriptions } = clients
export const { McpSession: acmeSession, McpSubscriptions: acmeSubscriptions, McpApiKeys } = acme
export const { McpSession: globexSession, McpSubscriptions: globexSubscriptions } = globex
export { McpState } from 'edgemcp/state'
export default combine(one, two, clients, acme, globex, async (request: Request) => {
  const { pathname, searchParams } = new URL(request.url)
  if (pathname !== '/create-key') return undefined
  const owner = { subject: searchParams.get('subject') ?? '' }
  return Response.json(await keys[searchParams.get('endpoint') as keyof typeof keys].create(owner))
})
