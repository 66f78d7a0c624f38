/** Servers that are chosen by host, and by tenant: in the host, and in the path. */
import { type Auth, createServer, serve } from 'edgemcp'
import { bearer, forTenant } from 'edgemcp/auth'
import { combine, routeByHost, routeByTenant, routeHandler } from 'edgemcp/compose'
import { rateLimit } from 'edgemcp/rate-limit'
import { sessions } from 'edgemcp/sessions'

const named = (name: string) => {
  const server = createServer({ name, version: '1.0.0' })
  server.tool('who', { description: 'Who calls' }, (_, { principal }) => {
    return `${principal?.subject} of ${principal?.tenant ?? 'nobody'} at ${name}`
  })
  return server
}

/** Whoever calls, and the tenant that a token names: `ada@acme`. */
const auth: Auth = {
  ...bearer({ issuer: 'https://issuer.example', allowAnonymous: true }),
  async authenticate(request) {
    const [subject, tenant] = request.headers.get('Authorization')?.replace('Bearer ', '').split('@') ?? []
    if (!subject) return undefined
    return { issuer: 'https://issuer.example', subject, scopes: [], claims: {}, ...(tenant && { tenant }) }
  },
}

const notes = serve(named('notes'), { auth, plugins: [sessions()] })
const weather = serve(named('weather'))
const tenants = new Set(['acme', 'globex'])
const made: string[] = []
const shared = named('shared')
const limit = rateLimit()
const names = { McpSession: 'TenantSession' }
const workerFor = (tenant: string, path: string) => {
  if (!tenants.has(tenant)) return undefined
  made.push(`${tenant} ${path}`)
  return serve(shared, { path, auth: forTenant(tenant, auth), plugins: [sessions(), limit], durableObjects: { names } })
}
const tenantWorker = serve(shared, {
  plugins: [sessions(), limit],
  durableObjects: { names },
})

function problemOf(asked: URLSearchParams): string {
  const [host, pattern] = [asked.get('host'), asked.get('pattern')]
  try {
    if (host !== null) routeByHost({ [host]: weather })
    if (pattern !== null) routeByTenant(pattern, () => undefined)
    return 'none'
  } catch (problem) {
    return (problem as Error).message
  }
}

export default combine(
  routeByHost({ 'notes.localhost': routeHandler(notes), 'Weather.localhost': weather }),
  routeByTenant('{tenant}.tenants.localhost', workerFor),
  routeByTenant('/{tenant}/mcp', workerFor),
  (request: Request) => {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname === '/made') return Response.json(made)
    return pathname === '/problem' ? new Response(problemOf(searchParams)) : undefined
  },
)
export const { McpSession } = notes
export const { McpSession: TenantSession } = tenantWorker
