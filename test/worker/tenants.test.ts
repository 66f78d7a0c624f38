/** Durable Objects serve the tenants of their endpoint, also those that no request of their isolate has named. */
import { createExecutionContext, runInDurableObject } from 'cloudflare:test'
import { exports } from 'cloudflare:workers'
import { type Auth, createServer, McpError, type Plugin, type Runtime, serve, type Tenants } from 'edgemcp'
import { apiKeys } from 'edgemcp/api-keys'
import { bearer, forTenant, type TenantOptions, tenants } from 'edgemcp/auth'
import { combine, rpcEntrypoint } from 'edgemcp/compose'
import { rateLimit } from 'edgemcp/rate-limit'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'
import { tasks } from 'edgemcp/tasks'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import type { TaskCall } from '../../durable-objects/task/rpc.ts'
import { endpointClasses } from '../../worker/check-plugins.ts'
import type { StoredPrincipals } from '../../worker/declarations/stored-principal.ts'
import { sealPrincipal } from '../../worker/plugins/tasks/task-principal.ts'
import type { Principal } from '../../worker/protocol/principal.ts'
import { enveloped } from '../../worker/protocol/stateless-request.ts'
import { statelessHeaders } from '../support/stateless.ts'
import { post, postTo } from './session-post.ts'
import { references } from './task-host.ts'

const { McpState } = exports as unknown as { McpState: DurableObjectNamespace }

beforeEach(() => endpointClasses.clear())

const seen: unknown[] = []
/** What all tenants of the last endpoint share. */
let shared: Runtime | undefined
/** Notes which endpoint and tenant a call runs for. */
const seeing: Plugin = {
  name: 'seeing',
  provide(runtime) {
    shared = runtime
    return {}
  },
  interceptor: (runtime) => (_, next) => {
    seen.push([runtime.identity, runtime.tenant, runtime.seals(undefined).identity, runtime.declarations.identity])
    return next()
  },
}

function serveTenants(find: (tenant: string) => TenantOptions | undefined) {
  const server = createServer({ name: 'shared', version: '1.0.0' })
  server.tool('who', { description: 'Who calls', task: true }, (_, { principal }) => JSON.stringify(principal?.claims))
  return serve(server, { tenants: tenants('/{tenant}/mcp', find), plugins: [sessions(), tasks(), seeing] as const })
}

const ada: Principal = { issuer: 'https://issuer.example', subject: 'ada', tenant: 'acme', scopes: [], claims: {} }

/** Runs a call as the object of a session of the tenant. */
const callInSession = ({ McpSession }: ReturnType<typeof serveTenants>, tenant: string | undefined) =>
  runInDurableObject(McpState.getByName(crypto.randomUUID()), (_, context) =>
    postTo(new McpSession(context, {} as never), post('tools/call', { name: 'who' }, { tenant })),
  )

test('a call in a session runs for its tenant', async () => {
  const worker = serveTenants(() => ({}))
  seen.length = 0
  await callInSession(worker, 'acme')
  await callInSession(worker, 'globex')
  const identityOf = (tenant: string) => JSON.stringify(['shared', '/{tenant}/mcp', tenant])
  expect(seen).toEqual(
    ['acme', 'globex'].map((tenant) => [identityOf(tenant), tenant, identityOf(tenant), identityOf(tenant)]),
  )
})

describe('a task runs as the auth of its tenant says', () => {
  const auths = {
    refusing: bearer({ verify: () => ada, reauthorize: () => undefined }),
    renewing: bearer({ verify: () => ada, reauthorize: (same: Principal) => ({ ...same, claims: { fresh: true } }) }),
    storing: bearer({ verify: () => ada, storedClaims: ['email'] }),
  }
  const find = (tenant: string): TenantOptions | undefined =>
    tenant in auths ? { auth: auths[tenant as keyof typeof auths], issuers: [ada.issuer] } : undefined

  /** Runs a task that began in another isolate. */
  async function outcomeOf(tenant: string, auth: StoredPrincipals, found = find): Promise<string> {
    const { McpTask } = serveTenants(found)
    const { seals } = (shared as Runtime).at(tenant)
    const call: TaskCall = {
      params: { name: 'who' },
      capabilities: {},
      client: undefined,
      tenant,
      principal: await sealPrincipal(
        { ...ada, tenant, claims: { email: 'ada@a.example' } },
        auth,
        seals(undefined),
        60_000,
      ),
    }
    return runInDurableObject(McpState.getByName(crypto.randomUUID()), async (_, context) => {
      const task = new McpTask(context, {} as never)
      const terms = { after: 10_000, ttl: 3_600_000, poll: 1000, retries: 0 }
      const outcome = await task.start(call, terms, { ...references, session: undefined }, {}, false)
      await context.storage.deleteAll()
      return JSON.stringify(outcome)
    })
  }

  test.each([
    ['refusing', 'refused the caller who began it'],
    ['renewing', 'fresh'],
    ['storing', 'ada@a.example'],
  ] as const)('of %s', async (tenant, expected) => {
    expect(await outcomeOf(tenant, auths[tenant])).toContain(expected)
  })

  test('of one that does not exist any more', async () => {
    expect(await outcomeOf('storing', auths.storing, () => undefined)).toContain(
      'The tenant \\"storing\\" does not exist',
    )
  })

  test.each<[string, TenantOptions, string]>([
    ['several issuers', { auth: bearer({ verify: () => ada }) }, 'may have several issuers'],
    ['plugins', { auth: apiKeys() }, 'has plugins with classes to export'],
    ['no auth', { auth: {} as never }, 'must be an auth such as bearer'],
  ])('of none with %s', async (_, options, problem) => {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
    expect(await outcomeOf('storing', auths.storing, () => options)).toContain('reauthorize failed')
    expect(String(printed.mock.calls[0]?.[0])).toContain(problem)
    printed.mockRestore()
  })
})

describe('callers at the address of a tenant', () => {
  const issuers = ['https://a.example', 'https://b.example']
  /** An auth that believes what a request states. */
  const believing = (more: object = {}): Auth => ({
    issuers,
    authenticate: async ({ headers }) => JSON.parse(headers.get('Authorization') ?? ''),
    ...more,
  })
  const ask = (
    found: { auth: Auth },
    principal: object,
    make = (find: Tenants['find']) => tenants('/{tenant}/mcp', find),
  ) => {
    const server = createServer({ name: 'asked', version: '1.0.0' })
    server.tool('greet', { description: 'Greets', scopes: [] }, () => 'Hello')
    const worker = serve(server, { tenants: make(() => found) })
    const request = new Request('https://mcp.example/acme/mcp', {
      method: 'POST',
      headers: { ...statelessHeaders('tools/list'), Authorization: JSON.stringify(principal) },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/list',
        params: enveloped({}, '2026-07-28', { capabilities: {} }),
      }),
    })
    return worker.fetch(request, {}, createExecutionContext())
  }
  const of = (more: object) => ({ ...ada, issuer: 'https://a.example', ...more })

  test.each([
    ['of the tenant', of({}), 200],
    ['without a tenant, whose issuer belongs to the tenant', of({ tenant: undefined }), 200],
    ['of another tenant', of({ tenant: 'globex' }), 403],
    ['of another issuer', of({ issuer: 'https://b.example' }), 403],
  ])('%s', async (_, principal, status) => {
    for (const auth of [believing(), believing({ tenant: 'acme' }), forTenant('acme', believing(), { issuers })]) {
      expect((await ask({ auth, issuers: ['https://a.example'] } as never, principal)).status).toBe(status)
    }
  })

  test('are of the tenant, whatever an auth and tenants of your own say', async () => {
    const own = (find: Tenants['find']): Tenants => ({ pattern: '/{tenant}/mcp', tenantOf: () => 'acme', find })
    const auth = believing({ tenant: 'acme' })
    expect((await ask({ auth }, of({}), own)).status).toBe(200)
    for (const tenant of ['globex', undefined]) expect((await ask({ auth }, of({ tenant }), own)).status).toBe(403)
  })
})

test('a request of a tenant that cannot be found fails, and the failure is reported', async () => {
  const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
  const ask = async (find: () => never) => {
    endpointClasses.clear()
    const headers = { Origin: 'https://mcp.example' }
    const request = new Request('https://mcp.example/acme/mcp', { method: 'POST', body: '{}', headers })
    const worker = serveTenants(find)
    expect(await worker.isOfTenant?.(request)).toBe(true)
    return worker.fetch(request, {}, createExecutionContext())
  }
  const failing = await ask(() => {
    throw new Error('The database is away')
  })
  expect(failing.status).toBe(500)
  expect(failing.headers.get('Access-Control-Allow-Origin')).toBe('https://mcp.example')
  expect(await failing.text()).not.toContain('database')
  expect(String(printed.mock.calls[0]?.[0])).toContain('The database is away')
  printed.mockRestore()
  const refusing = await ask(() => {
    throw new McpError('unavailable', 'Tenants are away', undefined, { 'Retry-After': '5' })
  })
  expect(refusing.status).toBe(503)
  expect(refusing.headers.get('Retry-After')).toBe('5')
})

test('Workers of tenants at several hosts are combined, and each call of a service binding names its tenant', () => {
  const server = createServer({ name: 'hosts', version: '1.0.0' })
  const at = (host: string) => serve(server, { tenants: tenants(`{tenant}.${host}`, () => ({})) })
  combine(at('one.example'), at('two.example'))
  expect(() => rpcEntrypoint(at('three.example'))).toThrow(
    "rpcEntrypoint() calls one tenant of this Worker: name its URL, as in { url: 'https://mcp.example.com/acme/mcp' }",
  )
})

test('two endpoints have no class in common', () => {
  const server = createServer({ name: 'twice', version: '1.0.0' })
  const plugins = [sessions(), subscriptions(), tasks(), rateLimit()]
  serve(server, { path: '/one/mcp', plugins })
  expect(() => serve(server, { path: '/two/mcp', plugins })).toThrow(
    "Another serve() has the class McpSession: give this one its own, as in durableObjects: { names: { McpSession: 'OtherSession' } }. For an endpoint of each tenant, use the option tenants",
  )
  expect(() =>
    serve(server, { path: '/two/mcp', plugins, durableObjects: { names: { McpSession: 'TwoSession' } } }),
  ).toThrow('Another serve() has the class McpSubscriptions')
  const names = { McpSession: 'TwoSession', McpSubscriptions: 'TwoSubscriptions', McpTask: 'TwoTask' }
  serve(server, { path: '/two/mcp', plugins, durableObjects: { names } })
  // A refused endpoint has no class.
  serve(server, { path: '/three/mcp' })
})
