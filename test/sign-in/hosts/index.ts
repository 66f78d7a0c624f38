/**
 * Two endpoints on two hosts, whose users sign in with different providers of one name. Or, as `CASE` says, two with one identity.
 */
import { env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { routeByHost, routeHandler } from 'edgemcp/compose'
import { github, type SignInAuth, signIn, type User } from 'edgemcp/sign-in'

const vars = env as unknown as Record<'CASE' | 'GITHUB' | 'WORK', string>

const authOf = (url: string, allow: (user: User) => boolean) =>
  signIn({ with: github({ clientId: 'edge', clientSecret: 'hush', url }), tokenCacheMs: 0, allow })

function endpoint(name: string, auth: SignInAuth, McpSignIn: string) {
  const server = createServer({ name, version: '1.0.0' })
  server.tool('whoami', { description: 'Returns the principal', scopes: ['notes:read'] }, (_, { principal }) =>
    JSON.stringify(principal),
  )
  server.tool('starred', { description: 'Returns the token for GitHub', scopes: [] }, async (_, ctx) =>
    ctx.upstream('github'),
  )
  return serve(server, {
    auth,
    ...(vars.CASE === 'same' && { identity: 'same' }),
    durableObjects: { names: { McpSignIn } },
  })
}

const first = endpoint(
  'first',
  authOf(vars.GITHUB, ({ login }) => login !== 'removed'),
  'McpSignIn',
)
const second = endpoint(
  'second',
  authOf(vars.WORK, () => true),
  'SecondSignIn',
)

export const { McpSignIn } = first
export const { McpSignIn: SecondSignIn } = second
export default { fetch: routeByHost({ '127.0.0.1': routeHandler(first), localhost: second }) }
