/**
 * An endpoint whose objects of sign-in are in another isolate, with the configuration of an earlier deployment, as happens while a new one is
 * rolled out. Headers choose the provider of the endpoint, as if the developer changed it.
 */
import { DurableObject, env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { github, signIn } from 'edgemcp/sign-in'
import { endpointClasses } from '../../../worker/check-plugins.ts'
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
  auth: signIn({ with: github({ ...client, url: 'http://127.0.0.1:1' }) }),
  plugins: [sessions()],
})

type Served = Pick<typeof worker, 'fetch'>
const made = new Map<string, Served>()
function serveWith(provider: string, clientId: string): Served {
  // Each is what another deployment would serve.
  endpointClasses.clear()
  return serve(server, {
    auth: signIn({
      with: github({ ...client, clientId, url: vars[provider as 'GITHUB'] }),
      allow: ({ login }) => login !== 'removed',
      tokenCacheMs: 0,
    }),
    plugins: [sessions()],
  })
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
    const served = made.get(key) ?? serveWith(provider, clientId)
    made.set(key, served)
    return served.fetch(request, env, ctx)
  },
}
