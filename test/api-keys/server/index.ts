/** Endpoints with API keys, and a route that manages the keys. */
import { env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { type ApiKeysAuth, apiKeys } from 'edgemcp/api-keys'
import { audit } from 'edgemcp/audit'
import { bearer, forTenant, oneOf } from 'edgemcp/auth'
import { combine } from 'edgemcp/compose'

const { ISSUER } = env as unknown as { ISSUER: string }

const server = createServer({ name: 'notes', version: '1.0.0' })
server.tool('who', { description: 'Who asks', scopes: [] }, (_, { principal, request }) => {
  const { issuer, subject, tenant, claims } = principal ?? {}
  const hasCredential = ['Authorization', 'X-API-Key'].some((name) => request?.headers.has(name))
  return JSON.stringify({ issuer, subject, tenant, plan: claims?.plan, hasCredential })
})
server.tool('read', { description: 'Reads', scopes: ['notes:read'] }, () => 'read')

const keys: Readonly<Record<string, ApiKeysAuth>> = {
  plain: apiKeys({ prefix: 'notes', header: 'X-API-Key', tokenCacheMs: 0, maxPerOwner: 3 }),
  other: apiKeys({ prefix: 'notes', tokenCacheMs: 0 }),
  cached: apiKeys(),
  open: apiKeys({ allowAnonymous: true, header: 'X-API-Key', tokenCacheMs: 0 }),
  strict: apiKeys({ requiredScopes: ['base'], requireTenant: true, tokenCacheMs: 0 }),
  acme: apiKeys({ tokenCacheMs: 0 }),
  mixed: apiKeys({ header: 'X-API-Key', tokenCacheMs: 0 }),
}
const audited = {
  plugins: [audit({ sinks: [(event) => console.log(JSON.stringify(event))] })],
} as const

const workers = Object.entries(keys).map(([name, auth]) =>
  serve(server, {
    ...audited,
    path: `/${name}/mcp`,
    durableObjects: { names: { McpApiKeys: `McpApiKeys_${name}` } },
    auth: name === 'mixed' ? oneOf(bearer({ issuer: ISSUER }), auth) : name === 'acme' ? forTenant('acme', auth) : auth,
  }),
)
const unserved = apiKeys()

/** Calls of the objects, by method. */
const calls: Record<string, number> = {}
const count = (name: string) => {
  calls[name] = (calls[name] ?? 0) + 1
}

export const [
  McpApiKeys_plain,
  McpApiKeys_other,
  McpApiKeys_cached,
  McpApiKeys_open,
  McpApiKeys_strict,
  McpApiKeys_acme,
  McpApiKeys_mixed,
] = workers.map(
  ({ McpApiKeys }) =>
    class extends McpApiKeys {
      override verify(hash: string) {
        count('verify')
        return super.verify(hash)
      }
      override recordUse() {
        count('recordUse')
        return super.recordUse()
      }
    },
)

const combined = combine(...workers)
export default {
  async fetch(
    request: Request<unknown, IncomingRequestCfProperties>,
    environment: unknown,
    context: ExecutionContext,
  ): Promise<Response> {
    const { pathname } = new URL(request.url)
    if (pathname === '/calls') return Response.json(calls)
    if (pathname !== '/manage') return combined.fetch(request, environment, context)
    const { endpoint, method, args } = (await request.json()) as { endpoint: string; method: string; args: never[] }
    const auth = (keys[endpoint] ?? unserved) as unknown as Record<string, (...args: never[]) => Promise<unknown>>
    for (const value of args as { claims?: { toJSON?: unknown } }[]) {
      const written = value?.claims?.toJSON
      if (written && value.claims) value.claims.toJSON = () => written
    }
    try {
      return Response.json({ value: await auth[method]?.(...args) })
    } catch (problem) {
      return Response.json({ error: (problem as Error).message })
    }
  },
}
