/** Two endpoints on two hosts, whose users sign in with different providers of one name. They share one class. */
import { env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { routeByHost, routeHandler } from 'edgemcp/compose'
import { github, signIn } from 'edgemcp/sign-in'

const vars = env as unknown as { GITHUB: string; WORK: string }

function endpoint(name: string, url: string) {
  const server = createServer({ name, version: '1.0.0' })
  server.tool('whoami', { description: 'Returns the principal', scopes: ['notes:read'] }, (_, { principal }) =>
    JSON.stringify(principal),
  )
  server.tool('starred', { description: 'Returns the token for GitHub', scopes: [] }, async (_, ctx) =>
    ctx.upstream('github'),
  )
  const provider = github({ clientId: 'edge', clientSecret: 'hush', url })
  return serve(server, { auth: signIn({ with: provider, tokenCacheMs: 0 }) })
}

const first = endpoint('first', vars.GITHUB)
const second = endpoint('second', vars.WORK)
const route = routeByHost({ '127.0.0.1': routeHandler(first), localhost: second })

export const { McpSession, McpSignIn } = first
export default { fetch: route }
