/** Endpoints with each setting of DPoP. `X-Instance: 2` reaches a second instance of each, which has nothing in memory in common. */
import { env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { audit, consoleSink } from 'edgemcp/audit'
import { type BearerOptions, bearer, oneOf } from 'edgemcp/auth'
import { combine } from 'edgemcp/compose'
import { sessions } from 'edgemcp/sessions'
import { setClock } from '../clock.ts'

const { ISSUER: issuer = '' } = env as { ISSUER?: string }

const server = createServer({ name: 'dpop', version: '1.0.0' })
server.tool('who', { description: 'Who asks', scopes: [] }, (_, { principal, request }) =>
  JSON.stringify({
    subject: principal?.subject,
    cnf: principal?.claims.cnf,
    headers: [...(request?.headers.keys() ?? [])].filter((name) => name === 'dpop' || name === 'authorization'),
  }),
)
server.tool('write', { description: 'Writes', scopes: ['notes:write'] }, () => 'written')
server.tool('slow', { description: 'Reports progress', scopes: [] }, async (_, ctx) => {
  await ctx.progress(1, 2)
  ctx.closeStream({ retryMs: 10 })
  return 'done'
})

const options: Readonly<Record<string, BearerOptions>> = {
  mcp: { dpop: true },
  'unset/mcp': {},
  'off/mcp': { dpop: false },
  'required/mcp': { dpop: 'required' },
  'nonce/mcp': { dpop: { nonce: true } },
  'isolate/mcp': { dpop: { replay: 'isolate' } },
  'tuned/mcp': { dpop: { algorithms: ['ES256'], maxAge: '30s' } },
  'named/mcp': { resource: 'https://mcp.example.com/app', dpop: true },
  'open/mcp': { allowAnonymous: true, dpop: true },
  'opaque/mcp': { dpop: true, introspection: { clientId: 'mcp', clientSecret: 'secret' } },
  // The token is its claims.
  'verified/mcp': { verify: (token) => JSON.parse(atob(token)) },
}

/** DPoP is required of the tokens of the first issuer only. */
const several = oneOf(
  bearer({ issuer, dpop: { required: true, nonce: true, algorithms: ['ES256'] } }),
  bearer({ issuer: 'https://other.example', dpop: { algorithms: ['ES256', 'RS256'] } }),
)

const audited = audit({ sinks: consoleSink() })
const at = (path: string) => ({ path: `/${path}`, auth: bearer({ issuer, ...options[path] }) })
const stateless = (paths: readonly string[]) => [
  ...paths.map((path) => serve(server, { ...at(path), plugins: [audited] })),
  serve(server, { path: '/several/mcp', auth: several }),
]

/** The endpoints of the first instance whose clients have sessions. */
const withSessions = serve(server, { ...at('mcp'), plugins: [sessions(), audited] })
const withNonce = serve(server, {
  ...at('nonce/mcp'),
  durableObjects: { names: { McpSession: 'NonceSession' } },
  plugins: [sessions(), audited],
})

const { mcp, 'nonce/mcp': nonce, ...others } = options
const one = combine(withSessions, withNonce, ...stateless(Object.keys(others)))
const two = combine(...stateless(Object.keys(options)))

export default {
  async fetch(request: Request, bindings: unknown, ctx: ExecutionContext): Promise<Response> {
    const clock = setClock(new URL(request.url))
    if (clock) return clock
    const reached = request.headers.get('X-Instance') === '2' ? two : one
    return reached.fetch(request as never, bindings as never, ctx)
  },
}
export const { McpSession } = withSessions
export const { McpSession: NonceSession } = withNonce
