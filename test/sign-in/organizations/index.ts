/** A server whose users sign in at a provider that states the organization for which they have signed in. */
import { env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { oidc, signIn } from 'edgemcp/sign-in'

const { GITHUB: issuer } = env as unknown as Record<'GITHUB', string>
const server = createServer({ name: 'organizations', version: '1.0.0' })
server.tool('token', { description: 'Returns the token of the provider', scopes: [] }, (_, ctx) => ctx.upstream('oidc'))
server.tool(
  'tenant',
  { description: 'Returns the tenant', scopes: [] },
  (_, { principal }) => principal?.tenant ?? 'none',
)
server.tool('groups', { description: 'Returns the groups', scopes: [] }, (_, { principal }) =>
  JSON.stringify(principal?.claims.groups ?? []),
)

const company = {
  clientId: 'edge',
  clientSecret: 'hush',
  issuer,
  title: 'Company',
  tenantClaim: 'org_id',
  additionalScopes: ['calendar'],
}

const worker = serve(server, {
  auth: signIn({ with: oidc(company), tokenCacheMs: 0, refreshTokenTtl: '30m' }),
  plugins: [sessions()],
})
export const { McpSession, McpSignIn } = worker
export default worker
