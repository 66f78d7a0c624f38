/** Several endpoints of one Worker that share one authorization server, and some of them one `bearer()`. */
import { env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { bearer, forTenant, oneOf } from 'edgemcp/auth'
import { combine } from 'edgemcp/compose'
import { state } from 'edgemcp/state'
import * as z from 'zod'

const { ISSUER, OTHER } = env as unknown as { ISSUER: string; OTHER: string }
const diary = state('diary', { per: 'user', ttl: 86_400_000 })

const named = (name: string) => {
  const server = createServer({ name, version: '1.0.0' })
  server.tool('who', { description: 'Who asks', scopes: [] }, (_, { principal }) =>
    JSON.stringify([principal?.subject, principal?.client ?? null, principal?.tenant ?? null]),
  )
  server.tool(
    'write',
    { description: 'Writes the diary', inputSchema: z.object({ text: z.string() }), scopes: [] },
    async ({ text }, ctx) => {
      await ctx.state(diary).put('text', text)
      return 'written'
    },
  )
  server.tool('diary', { description: 'Reads the diary', scopes: [] }, async (_, ctx) =>
    String(await ctx.state(diary).get('text')),
  )
  return server
}

const auth = bearer({ issuer: ISSUER })
const organisations = bearer({ issuer: ISSUER, tenantClaim: 'org_id' })

const alpha = serve(named('alpha'), { path: '/alpha/mcp', auth })
const beta = serve(named('beta'), { path: '/beta/mcp', auth })
const acme = serve(named('acme'), { path: '/acme/mcp', auth: forTenant('acme', auth) })
const globex = serve(named('globex'), { path: '/globex/mcp', auth: forTenant('globex', auth) })
const ownIssuer = serve(named('own'), { path: '/own/mcp', auth: forTenant('acme', organisations) })
const lenient = serve(named('lenient'), {
  path: '/lenient/mcp',
  auth: forTenant('acme', organisations, { allowMissingClaim: true }),
})
const both = bearer({ issuer: [ISSUER, OTHER], tenantClaim: 'org_id' })
const byIssuer = serve(named('named'), {
  path: '/named/mcp',
  auth: forTenant('acme', both, { issuers: [ISSUER] }),
})
const combined = serve(named('combined'), {
  path: '/combined/mcp',
  auth: forTenant(
    'acme',
    oneOf(bearer({ issuer: ISSUER, tenantClaim: 'org_id' }), bearer({ issuer: OTHER, tenantClaim: 'org_id' })),
    { issuers: [ISSUER] },
  ),
})
const shared = serve(named('shared'), { path: '/shared/mcp', auth: organisations })
const tenantsOnly = serve(named('tenants-only'), {
  path: '/tenants-only/mcp',
  auth: bearer({ issuer: ISSUER, tenantClaim: 'org_id', requireTenant: true, allowAnonymous: true }),
})

export { McpState } from 'edgemcp/state'
export default combine(alpha, beta, acme, globex, ownIssuer, lenient, byIssuer, combined, shared, tenantsOnly)
