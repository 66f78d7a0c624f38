/** A server whose users sign in with one of the OpenID providers that have a function of their own. */
import { createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { auth0, clerk, cloudflareAccess, entra, google, okta, signIn, workos } from 'edgemcp/sign-in'

const server = createServer({ name: 'notes', version: '1.0.0' })
server.tool('whoami', { description: 'Returns the principal', scopes: [] }, (_, { principal }) =>
  JSON.stringify(principal),
)
server.tool('token', { description: 'Returns a token for the API of the provider', scopes: [] }, (_, ctx) =>
  ctx.upstream(String(ctx.principal?.claims.provider)),
)

const client = { clientId: 'edge', clientSecret: 'hush' }

const worker = serve(server, {
  auth: signIn({
    with: [
      google(client),
      google({ ...client, name: 'workspace', domains: ['example.com'] }),
      entra({ ...client, tenant: '11111111-2222-3333-4444-AAAAAAAAAAAA' }),
      okta({ ...client, domain: 'example.okta.com' }),
      okta({ ...client, name: 'okta-custom', domain: 'example.okta.com', authorizationServer: 'default' }),
      auth0({ ...client, domain: 'example.eu.auth0.com', groupsClaim: 'https://example.com/roles' }),
      workos({ ...client, domain: 'example.authkit.app' }),
      clerk({ ...client, domain: 'clerk.example.com' }),
      cloudflareAccess({ ...client, team: 'example' }),
    ],
    tenant: ({ tenant }) => tenant,
  }),
  plugins: [sessions()],
})

export const { McpSession, McpSignIn } = worker
export default worker
