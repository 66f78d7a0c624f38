/** Gateways whose callers must stay apart: each path has its own options for one upstream. */
import { env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { bearer, findUnscoped } from 'edgemcp/auth'
import { combine, type HeadersContext, mount, proxy } from 'edgemcp/compose'
import { sessions } from 'edgemcp/sessions'

const { UPSTREAM, OTHER } = env as unknown as Record<'UPSTREAM' | 'OTHER', string>

const headers = ({ principal }: HeadersContext): Record<string, string> => ({
  'X-Key': 'secret',
  'mcp-session-id': 'made-up',
  ...(principal && { 'X-Name': principal.subject }),
})

/** A token is a subject, and the scopes that it has: `ada read write`. */
const auth = {
  ...bearer({
    allowAnonymous: true,
    requireScopesEverywhere: true,
    verify: (token) => {
      const [sub = '', ...scopes] = token.split('+')
      return { iss: 'https://names.example', sub, scope: scopes.join(' ') }
    },
  }),
}

const newServer = (name: string) => createServer({ name, version: '1.0.0' })
const apart = newServer('apart').use(proxy(UPSTREAM, { headers, timeout: 5_000, scopes: [] }))
const shared = newServer('shared').use(proxy(UPSTREAM, { timeout: 5_000, scopes: [], sharedSessions: true }))
const scoped = newServer('scoped')
scoped.use(proxy(UPSTREAM, { prefix: 'all_', timeout: 5_000, scopes: ['read'] }))
scoped.use(
  mount(
    newServer('inner').use(
      proxy(OTHER, {
        prefix: 'each_',
        timeout: 5_000,
        scopes: ({ kind, name }) => (kind === 'tool' && name === 'secret_of' ? ['write'] : []),
      }),
    ),
    { prefix: 'in_' },
  ),
)
/** Scopes for one resource. */
const guarded = newServer('guarded').use(
  proxy(UPSTREAM, { timeout: 5_000, scopes: ({ name }) => (name === 'about:stub' ? ['read'] : []) }),
)
/** Names and URIs that two upstreams could have. */
const ambiguous = newServer('ambiguous')
ambiguous.use(proxy(UPSTREAM, { timeout: 5_000, scopes: ['read'] }))
ambiguous.use(proxy(OTHER, { timeout: 5_000, scopes: ['write'] }))

const open = newServer('open').use(proxy(UPSTREAM))
const refusedOf = (make: () => unknown) => {
  try {
    make()
    return ''
  } catch (problem) {
    return (problem as Error).message
  }
}
const problems = () => ({
  unscoped: findUnscoped(open),
  strict: refusedOf(() => serve(open, { auth, path: '/open/mcp' })),
  http: refusedOf(() => proxy('http://weather.example/mcp')),
  file: refusedOf(() => proxy('file:///etc/passwd')),
  text: refusedOf(() => proxy('weather.example')),
  credentials: refusedOf(() => proxy('https://me:secret@weather.example/mcp')),
  timeout: refusedOf(() => proxy('https://weather.example/mcp', { timeout: 0 })),
  attemptTimeout: refusedOf(() => proxy('https://weather.example/mcp', { attemptTimeout: '0.0s' })),
  listTimeout: refusedOf(() => proxy('https://weather.example/mcp', { listTimeout: '0ms' })),
  scopes: refusedOf(() => proxy('https://weather.example/mcp', { scopes: 'read' as never })),
})

const worker = serve(apart, { auth, plugins: [sessions()] })
const others = Object.entries({ shared, scoped, guarded, ambiguous }).map(([name, server]) =>
  serve(server, { auth, path: `/${name}/mcp` }),
)
const told = (request: Request) =>
  new URL(request.url).pathname === '/problems' ? Response.json(problems()) : undefined

export default combine(worker, ...others, told as never)
export const { McpSession } = worker
