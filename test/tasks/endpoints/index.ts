/** One server at the addresses of several tenants, each with an auth of its own, and a server with mounted parts. */
import { createServer, serve } from 'edgemcp'
import { bearer, forTenant } from 'edgemcp/auth'
import { combine, mount, proxy, routeByTenant } from 'edgemcp/compose'
import { rateLimit } from 'edgemcp/rate-limit'
import { sessions } from 'edgemcp/sessions'
import { McpState } from 'edgemcp/state'
import { subscriptions } from 'edgemcp/subscriptions'
import { tasks } from 'edgemcp/tasks'

const verify = (token: string) => JSON.parse(atob(token))
const principalText = { description: 'Returns its claims', task: true, scopes: [] } as const

const shared = createServer({ name: 'shared', version: '1.0.0' })
shared.tool('claims', principalText, (_, { principal }) => JSON.stringify(principal?.claims))

const tenantOptions = new Map<string, Partial<Parameters<typeof bearer>[0]>>([
  ['storing', { storedClaims: ['email'] }],
  ['strict', { reauthorize: () => undefined }],
  ['fresh', { reauthorize: (principal) => ({ ...principal, claims: { fresh: true } }) }],
  ['limited', {}],
  ['mistaken', {}],
])
const limit = rateLimit({ quota: '3/h' })
const withTasks = [tasks()] as const
const bareNames = { McpSession: 'BareSession' }
const authOf = (tenant: string) => {
  const options = tenantOptions.get(tenant)
  const issuers = ['https://issuer.example']
  return options && forTenant(tenant, bearer({ verify, ...options } as Parameters<typeof bearer>[0]), { issuers })
}
const byPath = routeByTenant('/{tenant}/mcp', (tenant, path) => {
  const auth = authOf(tenant)
  if (tenant === 'limited') return auth && serve(shared, { path, auth, plugins: [sessions(), limit, ...withTasks] })
  // The class that keeps its sessions is that of an endpoint without limits.
  if (tenant === 'mistaken')
    return (
      auth &&
      serve(shared, { path, auth, plugins: [sessions(), limit, ...withTasks], durableObjects: { names: bareNames } })
    )
  return auth && serve(shared, { path, auth, plugins: [sessions(), ...withTasks] })
})
const sameIdentity = routeByTenant('/same/{tenant}/mcp', (tenant, path) => {
  const auth = authOf(tenant)
  return auth && serve(shared, { path, auth, identity: 'same', plugins: [sessions(), ...withTasks] })
})

const part = createServer({ name: 'part', version: '1.0.0' })
part.tool('claims', principalText, (_, { principal }) => JSON.stringify(principal?.claims))
const whole = createServer({ name: 'whole', version: '1.0.0' })
whole.use(mount(part, { prefix: 'part_' }))
const wholeNames = { McpSession: 'WholeSession' }
const refusing = serve(whole, {
  path: '/refusing',
  auth: bearer({ verify, reauthorize: () => undefined }),
  plugins: [sessions(), ...withTasks],
  durableObjects: { names: wholeNames },
})
const keeping = serve(whole, {
  path: '/keeping',
  auth: bearer({ verify, storedClaims: ['email'] }),
  plugins: [sessions(), subscriptions(), ...withTasks],
  durableObjects: { names: wholeNames },
})
// Two levels of mounted servers, and a proxy that stands before the tools of all of them.
const gateway = createServer({ name: 'gateway', version: '1.0.0', experimental: { 'com.example/own': { level: 1 } } })
gateway.use(proxy('http://127.0.0.1:1/mcp', { prefix: 'far_', scopes: [] }))
const middle = createServer({ name: 'middle', version: '1.0.0', experimental: { 'com.example/trial': { level: 2 } } })
gateway.use(mount(middle.use(mount(part, { prefix: 'part_' })), { prefix: 'middle_' }))
const gatewayNames = { McpSession: 'GatewaySession' }
const nested = serve(gateway, {
  path: '/nested',
  auth: bearer({ verify }),
  plugins: [sessions(), subscriptions(), ...withTasks],
  durableObjects: { names: gatewayNames },
})

export default combine(refusing, keeping, nested, sameIdentity, byPath, () => new Response(null, { status: 404 }))
export const { McpSession, McpSubscriptions, McpTask } = serve(shared, {
  plugins: [sessions(), subscriptions(), rateLimit(), ...withTasks],
})
export const { McpSession: BareSession } = serve(shared, {
  plugins: [sessions(), ...withTasks],
  durableObjects: { names: bareNames },
})
export const { McpSession: WholeSession } = keeping
export const { McpSession: GatewaySession } = nested
export { McpState }
