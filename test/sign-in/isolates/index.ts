/**
 * An endpoint whose objects of sign-in are in another isolate. Headers choose the provider of the endpoint, as if the developer changed it and
 * rolls it out: the isolate of the objects still has that of the variables.
 */
import { DurableObject, env, exports } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { github, signIn } from 'edgemcp/sign-in'
import { endpointClasses } from '../../../worker/check-plugins.ts'
import { abandon } from '../../auth/abandon.ts'

type Provider = 'GITHUB' | 'WORK'
const vars = env as unknown as Record<Provider, string> & {
  PROVIDER?: Provider
  CLIENT?: string
  ELSEWHERE?: DurableObjectNamespace
  /** Whether the objects are in the isolate of the endpoint. */
  ALONE?: string
  SELF: Fetcher
}

const server = createServer({ name: 'notes', version: '1.0.0' })
server.tool('whoami', { description: 'Returns the user', scopes: ['notes:read'] }, (_, { principal }) =>
  JSON.stringify(principal),
)
server.tool('starred', { description: 'Returns the token for GitHub', scopes: [] }, async (_, ctx) =>
  ctx.upstream('github'),
)

function serveWith(provider: Provider, clientId: string) {
  // Each is what another deployment would serve.
  endpointClasses.clear()
  return serve(server, {
    auth: signIn({
      with: github({ clientId, clientSecret: 'hush', url: vars[provider] }),
      allow: ({ login }) => login !== 'removed',
      tokenCacheMs: 0,
    }),
    plugins: [sessions()],
  })
}
const { PROVIDER: ownProvider = 'GITHUB', CLIENT: ownClient = 'edge' } = vars
const worker = serveWith(ownProvider, ownClient)
const made = new Map([[`${ownProvider} ${ownClient}`, worker]])

/** Passes each call on to the same object in the other isolate. */
class Elsewhere extends DurableObject {
  lost = Promise.withResolvers<never>()

  /** Loses the answers of the calls that run. */
  lose(): void {
    this.lost.promise.catch(() => {})
    this.lost.reject(new Error('Network connection lost.'))
    this.lost = Promise.withResolvers()
  }
}
for (const name of Object.getOwnPropertyNames(Object.getPrototypeOf(worker.McpSignIn.prototype))) {
  if (name === 'constructor' || name === 'alarm') continue
  Object.defineProperty(Elsewhere.prototype, name, {
    value(this: Elsewhere & { ctx: DurableObjectState }, ...args: unknown[]) {
      const far = vars.ELSEWHERE?.getByName(this.ctx.id.name as string) as unknown as Record<
        string,
        (...args: unknown[]) => unknown
      >
      return Promise.race([far[name]?.(...args), this.lost.promise])
    },
  })
}

export const { McpSession } = worker
export const McpSignIn = vars.ELSEWHERE && !vars.ALONE ? Elsewhere : worker.McpSignIn
export default {
  async fetch(request: Request, env: unknown, ctx: ExecutionContext): Promise<Response> {
    const { origin, pathname, searchParams } = new URL(request.url)
    const [, path] = /^\/abandoned(.*)$/.exec(pathname) ?? []
    if (path !== undefined) {
      return abandon(vars.SELF, new Request(origin + path, request), searchParams.get('until') ?? '')
    }
    const name = searchParams.get('lose')
    if (name !== null) {
      await (exports as unknown as Record<string, DurableObjectNamespace<Elsewhere>>).McpSignIn?.getByName(name).lose()
      return new Response()
    }
    const provider = (request.headers.get('X-Provider') ?? ownProvider) as Provider
    const clientId = request.headers.get('X-Client') ?? ownClient
    const key = `${provider} ${clientId}`
    const served = made.get(key) ?? serveWith(provider, clientId)
    made.set(key, served)
    return served.fetch(request, env, ctx)
  },
}
