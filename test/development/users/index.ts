/** Endpoints whose bearer() reads more from a token than its own `scope`. */
import { createServer, serve } from 'edgemcp'
import { bearer, forTenant } from 'edgemcp/auth'
import { combine } from 'edgemcp/compose'

const server = createServer({ name: 'users', version: '1.0.0' })
server.tool('who', { description: 'Who asks', scopes: [] }, (_, { principal }) =>
  JSON.stringify([principal?.issuer, principal?.subject, principal?.client, principal?.tenant, principal?.scopes]),
)

const issuer = 'https://auth.example.com'
const rolesOf = ({ roles }: { readonly roles?: unknown }) => (Array.isArray(roles) ? roles : [])
const auths = {
  implied: bearer({ issuer, impliedScopes: { 'notes:write': ['notes:read'] } }),
  roles: bearer({ issuer, getScopes: rolesOf }),
  required: bearer({ issuer, requiredScopes: ['mcp'] }),
  organisation: bearer({ issuer, tenantClaim: 'org_id' }),
  tenantsOnly: bearer({ issuer, tenantClaim: 'org_id', requireTenant: true }),
  acme: forTenant('acme', bearer({ issuer, tenantClaim: 'org_id' })),
  verified: bearer({ verify: () => undefined }),
  two: bearer({ issuer: [issuer, 'https://other.example.com'] }),
}
const workers = Object.entries(auths).map(([name, auth]) => serve(server, { path: `/${name}/mcp`, auth }))

export default combine(...workers.map((worker) => worker))
