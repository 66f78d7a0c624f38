/** Endpoints of tenants, and an endpoint that only supplies their classes. */
import { createServer, serve } from 'edgemcp'
import { bearer, forTenant } from 'edgemcp/auth'
import { combine, routeByTenant } from 'edgemcp/compose'
import { sessions } from 'edgemcp/sessions'

const server = createServer({ name: 'shop', version: '1.0.0' })
server.tool('orders', { description: 'Lists orders', scopes: ['orders:read'] }, () => 'none')

const auth = bearer({ verify: () => undefined, allowAnonymous: true })
const endpoints = routeByTenant('/{tenant}/mcp', (tenant, path) =>
  tenant === 'acme'
    ? serve(server, {
        path,
        auth: forTenant(tenant, auth, { issuers: ['https://issuer.example'] }),
        plugins: [sessions()],
      })
    : undefined,
)
const app = {
  async fetch(_request: Request, env: unknown, ctx: ExecutionContext) {
    const response = (await endpoints(new Request('http://localhost/acme/mcp'), env, ctx)) as Response
    console.log(`The endpoint of a tenant answered with ${response.status}`)
    return new Response('app')
  },
}

export default combine(endpoints, app)
export const { McpSession } = serve(server, { plugins: [sessions()] })
