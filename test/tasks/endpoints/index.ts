/** A server with several tenants, each with an auth of its own, and servers with mounted parts. */
import { createServer, serve } from 'edgemcp'
import { bearer, tenants } from 'edgemcp/auth'
import { combine, mount, proxy } from 'edgemcp/compose'
import { rateLimit } from 'edgemcp/rate-limit'
import { sessions } from 'edgemcp/sessions'
import { McpState } from 'edgemcp/state'
import { subscriptions } from 'edgemcp/subscriptions'
import { tasks } from 'edgemcp/tasks'

const verify = (token: string) => JSON.parse(atob(token))
const principalText = { description: 'Returns its claims', task: true, scopes: [] } as const

const shared = createServer({ name: 'shared', version: '1.0.0' })
shared.tool('claims', principalText, (_, { principal }) => JSON.stringify(principal?.claims))

shared.tool('rare', { description: 'May be called rarely', scopes: [], rateLimit: { quota: '3/h' } }, () => 'done')

const tenantOptions = new Map<string, Partial<Parameters<typeof bearer>[0]>>([
  ['storing', { storedClaims: ['email'] }],
  ['strict', { reauthorize: () => undefined }],
  ['fresh', { reauthorize: (principal) => ({ ...principal, claims: { fresh: true } }) }],
])
const tenantsWorker = serve(shared, {
  tenants: tenants('/{tenant}/mcp', (tenant) => {
    const options = tenantOptions.get(tenant)
    const auth = options && bearer({ verify, ...options } as Parameters<typeof bearer>[0])
    return auth && { auth, issuers: ['https://issuer.example'] }
  }),
  plugins: [sessions(), rateLimit(), tasks()],
})

const part = createServer({ name: 'part', version: '1.0.0' })
part.tool('claims', principalText, (_, { principal }) => JSON.stringify(principal?.claims))
const whole = createServer({ name: 'whole', version: '1.0.0' })
whole.use(mount(part, { prefix: 'part_' }))
const refusing = serve(whole, {
  path: '/refusing',
  auth: bearer({ verify, reauthorize: () => undefined }),
  plugins: [sessions(), tasks()],
  durableObjects: { names: { McpSession: 'RefusingSession', McpTask: 'RefusingTask' } },
})
const keeping = serve(whole, {
  path: '/keeping',
  auth: bearer({ verify, storedClaims: ['email'] }),
  plugins: [sessions(), subscriptions(), tasks()],
  durableObjects: {
    names: { McpSession: 'KeepingSession', McpSubscriptions: 'KeepingSubscriptions', McpTask: 'KeepingTask' },
  },
})
// Two levels of mounted servers, and a proxy that stands before the tools of all of them.
const gateway = createServer({ name: 'gateway', version: '1.0.0', experimental: { 'com.example/own': { level: 1 } } })
gateway.use(proxy('http://127.0.0.1:1/mcp', { prefix: 'far_', scopes: [] }))
const middle = createServer({ name: 'middle', version: '1.0.0', experimental: { 'com.example/trial': { level: 2 } } })
gateway.use(mount(middle.use(mount(part, { prefix: 'part_' })), { prefix: 'middle_' }))
const nested = serve(gateway, {
  path: '/nested',
  auth: bearer({ verify }),
  plugins: [sessions(), subscriptions(), tasks()],
  durableObjects: {
    names: { McpSession: 'NestedSession', McpSubscriptions: 'NestedSubscriptions', McpTask: 'NestedTask' },
  },
})

export default combine(refusing, keeping, nested, tenantsWorker)
export const { McpSession, McpTask } = tenantsWorker
export const { McpSession: RefusingSession, McpTask: RefusingTask } = refusing
export const { McpSession: KeepingSession, McpSubscriptions: KeepingSubscriptions, McpTask: KeepingTask } = keeping
export const { McpSession: NestedSession, McpSubscriptions: NestedSubscriptions, McpTask: NestedTask } = nested
export { McpState }
