/** Servers that are chosen by host, and by tenant: in the host, and in the path. */
import { type Auth, createServer, serve } from 'edgemcp'
import { bearer, tenants } from 'edgemcp/auth'
import { combine, routeByHost, routeHandler } from 'edgemcp/compose'
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
const known = new Set(['acme', 'globex'])
const found: string[] = []
const shared = named('shared')
const limit = rateLimit()
const find = (tenant: string) => {
  found.push(tenant)
  // For a while, so that requests come at the same time.
  return scheduler.wait(1).then(() => (known.has(tenant) ? { auth } : undefined))
}
const hostWorker = serve(shared, {
  tenants: tenants('{tenant}.tenants.localhost', find),
  plugins: [sessions(), limit],
  durableObjects: { names: { McpSession: 'HostSession' } },
})
const pathWorker = serve(shared, {
  tenants: tenants('/{tenant}/mcp', find),
  plugins: [sessions(), limit],
  durableObjects: { names: { McpSession: 'PathSession' } },
})

function problemOf(host: string): string {
  try {
    routeByHost({ [host]: weather })
    return 'none'
  } catch (problem) {
    return (problem as Error).message
  }
}

export default combine(
  routeByHost({ 'notes.localhost': routeHandler(notes), 'Weather.localhost': weather }),
  hostWorker,
  pathWorker,
  (request: Request) => {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname === '/found') return Response.json(found)
    return pathname === '/problem' ? new Response(problemOf(searchParams.get('host') ?? '')) : undefined
  },
)
export const { McpSession } = notes
export const { McpSession: HostSession } = hostWorker
export const { McpSession: PathSession } = pathWorker
