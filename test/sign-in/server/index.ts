/** A server whose users sign in with GitHub, and one whose users choose between GitHub and an OpenID provider. */
import { env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { github, oidc, signIn } from 'edgemcp/sign-in'

const vars = env as unknown as { GITHUB: string; OPENID: string }

const server = createServer({ name: 'notes', title: 'Notes', version: '1.0.0' })
server.tool('whoami', { description: 'Returns the principal', scopes: ['notes:read'] }, (_, { principal }) =>
  JSON.stringify(principal),
)
server.tool('write', { description: 'Writes a note', scopes: ['notes:write'] }, () => 'written')

server.tool('starred', { description: 'Returns the token for GitHub', scopes: [] }, async (_, ctx) =>
  ctx.upstream('github'),
)
server.tool('push', { description: 'Returns a token with more scopes', scopes: [] }, async (_, ctx) =>
  ctx.upstream('github', { scopes: ['repo'] }),
)

const gitHub = github({
  clientId: 'edge',
  clientSecret: 'hush',
  url: vars.GITHUB,
  additionalScopes: ['repo'],
})
const openId = oidc({
  issuer: vars.OPENID,
  clientId: 'edge',
  clientSecret: 'hush-hush-hush-hush-hush-hush-hush',
  title: 'Company',
})

const worker = serve(server, {
  auth: signIn({
    with: [gitHub, openId],
    requiredScopes: ['notes:read'],
    allow: ({ login }) => (login === 'mallory' ? 'Mallory may not sign in.' : true),
  }),
})

export const { McpSession, McpSignIn } = worker
export default worker
