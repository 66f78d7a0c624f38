/** Servers that a test declares while this one runs, each at a path of its own. */
import { env as bindings } from 'cloudflare:workers'
import { type Auth, createServer, type ServedWorker, serve } from 'edgemcp'
import {
  type BearerOptions,
  bearer,
  type CloudflareAccessOptions,
  cloudflareAccess,
  type Fetch,
  oauthProvider,
} from 'edgemcp/auth'
import { abandon } from '../abandon.ts'
import { setClock } from '../clock.ts'

const server = createServer({ name: 'declared', version: '1.0.0' })
server.tool('who', { description: 'Who asks', scopes: [] }, (_, { principal }) =>
  JSON.stringify(principal && { ...principal, claims: undefined }),
)
server.tool('headers', { description: 'Headers that handlers receive', scopes: [] }, (_, { request }) =>
  [...(request?.headers.keys() ?? [])].join(' '),
)
server.tool('open', { description: 'For everybody' }, (_, { principal }) => principal?.subject ?? 'nobody')
server.tool('read', { description: 'Reads', scopes: ['notes:read'] }, () => 'read')
server.tool('write', { description: 'Writes', scopes: ['notes:write'] }, () => 'written')

type Declaration = { path: string; preset: string; options: unknown; reached?: string }

const workers = new Map<string, ServedWorker>()

type Props = { user?: string; scopes?: string[]; tenant?: string }

/** What cannot be sent: functions. */
const presets: Record<string, (options: never, fetch: Fetch) => Auth> = {
  bearer: (options: BearerOptions, fetch) => bearer({ ...options, fetch }),
  cloudflareAccess: (options: CloudflareAccessOptions, fetch) => cloudflareAccess({ ...options, fetch }),
  verified: (options: BearerOptions) =>
    bearer({
      ...options,
      async verify(token, request) {
        if (token === 'broken') throw new Error('out of order')
        const subject = /^good-(\w+)$/.exec(token)?.[1]
        return subject === undefined
          ? undefined
          : { iss: 'https://own.example', sub: subject, scope: 'notes:read', org: request.headers.get('X-Org') }
      },
    }),
  /** The token is its claims. */
  claimed: (options: BearerOptions) => bearer({ ...options, verify: (token) => JSON.parse(atob(token)) }),
  miscounted: (options: BearerOptions) => bearer({ ...options, getScopes: ({ roles }) => roles as string[] }),
  counted: (options: BearerOptions) =>
    bearer({
      ...options,
      getScopes: (claims) => (Array.isArray(claims.roles) ? claims.roles.map((role) => `notes:${role}`) : []),
    }),
  /** An auth of the server itself. */
  ownKeys: (options: Pick<Auth, 'credentialHeaders' | 'allowAnonymous'>) => ({
    ...options,
    authenticate: async ({ headers }) => {
      const subject = headers.get('X-API-Key')
      return subject ? { issuer: 'https://own.example', subject, scopes: [], claims: {} } : undefined
    },
  }),
  oauthProvider: () =>
    oauthProvider((props: Props, auth: { scope: string[] } | undefined) => {
      const { user, scopes = [], ...others } = props
      if (user === undefined) return undefined
      return { issuer: 'https://provider.example', subject: user, scopes: auth?.scope ?? scopes, claims: {}, ...others }
    }),
}

const { SELF } = bindings as unknown as { SELF: Fetcher }

let arrived = 0

export default {
  async fetch(request: Request, env: unknown, ctx: ExecutionContext): Promise<Response> {
    const { url } = request
    const { pathname, searchParams } = new URL(url)
    const clock = setClock(new URL(url))
    if (clock) return clock
    if (pathname.startsWith('/abandoned/')) {
      const left = new Request(url.replace('/abandoned', ''), request)
      return abandon(SELF, left, searchParams.get('until') as string)
    }
    if (pathname === '/arrived') return new Response(`${arrived}`)
    if (pathname === '/declare') return declare(await request.json())
    // What describes an endpoint ends in its path.
    const worker = workers.get(/([\w-]+)\/mcp$/.exec(pathname)?.[1] ?? '')
    if (!worker) return new Response('Nothing is declared here', { status: 410 })
    arrived += 1
    // What a provider in front hands over.
    const given = (name: string) => ({ value: JSON.parse(searchParams.get(name) ?? 'null') ?? undefined })
    return worker.fetch(request, env, Object.create(ctx, { props: given('props'), auth: given('auth') }))
  },
}

/** @param reached where a test stands in for the hosts that are fetched from */
function declare({ path, preset, options, reached }: Declaration): Response {
  const reach: Fetch = (url, init) => fetch(reached === undefined ? url : new URL(new URL(url).pathname, reached), init)
  try {
    const auth = presets[preset]?.(options as never, reach)
    workers.set(path, serve(server, { path: `/${path}/mcp`, ...(auth && { auth }) }))
    return new Response()
  } catch (problem) {
    return new Response((problem as Error).message, { status: 400 })
  }
}
