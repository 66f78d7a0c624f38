/**
 * The endpoint of a tenant, made by its first request. Its objects of sign-in are in another isolate, which receives no requests and makes no
 * endpoint but that of the class, as happens with objects in another place. Headers choose its provider, as if the developer changed it.
 */
import { DurableObject, env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { routeByTenant } from 'edgemcp/compose'
import { sessions } from 'edgemcp/sessions'
import { github, signIn } from 'edgemcp/sign-in'
import { abandon } from '../../auth/abandon.ts'

const vars = env as unknown as Record<'GITHUB' | 'WORK' | 'CLIENT', string> & {
  ELSEWHERE?: DurableObjectNamespace
  SELF: Fetcher
}

const server = createServer({ name: 'notes', version: '1.0.0' })
server.tool('whoami', { description: 'Returns the user', scopes: ['notes:read'] }, (_, { principal }) =>
  JSON.stringify(principal),
)
server.tool('starred', { description: 'Returns the token for GitHub', scopes: [] }, async (_, ctx) =>
  ctx.upstream('github'),
)

const client = { clientId: 'edge', clientSecret: 'hush' }
const worker = serve(server, {
  identity: 'classes',
  auth: signIn({ with: github({ ...client, url: 'http://127.0.0.1:1' }) }),
  plugins: [sessions()],
})

const made = new Map<string, ReturnType<typeof routeByTenant>>()
function tenantsWith(provider: string, clientId: string) {
  const url = vars[provider as 'GITHUB']
  return routeByTenant('{tenant}', () =>
    serve(server, {
      auth: signIn({
        with: github({ ...client, clientId, url }),
        allow: ({ login }) => login !== 'removed',
        tokenCacheMs: 0,
      }),
      plugins: [sessions()],
    }),
  )
}

/** Passes each call on to the same object in the other isolate. */
class Elsewhere extends DurableObject {}
for (const name of Object.getOwnPropertyNames(Object.getPrototypeOf(worker.McpSignIn.prototype))) {
  if (name === 'constructor' || name === 'alarm') continue
  Object.defineProperty(Elsewhere.prototype, name, {
    value(this: { ctx: DurableObjectState }, ...args: unknown[]) {
      const far = vars.ELSEWHERE?.getByName(this.ctx.id.name as string) as unknown as Record<
        string,
        (...args: unknown[]) => unknown
      >
      return far[name]?.(...args)
    },
  })
}

export const { McpSession } = worker
export const McpSignIn = vars.ELSEWHERE ? Elsewhere : worker.McpSignIn
export default {
  async fetch(request: Request, env: unknown, ctx: ExecutionContext): Promise<Response> {
    const { origin, pathname, searchParams } = new URL(request.url)
    const [, path] = /^\/abandoned(.*)$/.exec(pathname) ?? []
    if (path !== undefined) {
      return abandon(vars.SELF, new Request(origin + path, request), searchParams.get('until') ?? '')
    }
    const provider = request.headers.get('X-Provider') ?? 'GITHUB'
    const clientId = request.headers.get('X-Client') ?? 'edge'
    const key = `${provider} ${clientId}`
    const ask = made.get(key) ?? tenantsWith(provider, clientId)
    made.set(key, ask)
    const response = await ask(request, env, ctx)
    return response instanceof Response ? response : new Response(null, { status: 404 })
  },
}
