/** A server that holds refreshes between the moment at which they read their grant and that at which they write it. */
import { env, exports } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { github, signIn } from 'edgemcp/sign-in'

const vars = env as unknown as { GITHUB: string }

const server = createServer({ name: 'notes', version: '1.0.0' })
server.tool('whoami', { description: 'Returns the user', scopes: ['notes:read'] }, (_, { principal }) =>
  String(principal?.subject),
)
const gitHub = github({ clientId: 'edge', clientSecret: 'hush', url: vars.GITHUB })
const worker = serve(server, { auth: signIn({ with: gitHub }) })

/** Settled when the held refreshes may go on. */
let gate: PromiseWithResolvers<void> | undefined
let isHolding = false
let held = 0
/** Token requests that reached the object of their grant. */
let arrived = 0

// The library wraps the key of a grant with each new token.
const wrapKey = crypto.subtle.wrapKey.bind(crypto.subtle)
crypto.subtle.wrapKey = async (...args: Parameters<typeof wrapKey>) => {
  if (isHolding) {
    isHolding = false
    gate = Promise.withResolvers()
    held += 1
    await gate.promise
  }
  return wrapKey(...args)
}

export const { McpSession } = worker
export class McpSignIn extends worker.McpSignIn {
  override answer(...args: Parameters<InstanceType<typeof worker.McpSignIn>['answer']>) {
    arrived += 1
    return super.answer(...args)
  }

  /** Lets the held refreshes go on, which only their own object can do. */
  release(): void {
    gate?.resolve()
    gate = undefined
  }
}

export default {
  async fetch(request: Request, env: unknown, ctx: ExecutionContext): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname === '/hold') {
      held = arrived = 0
      isHolding = true
    }
    if (pathname === '/release') {
      const { McpSignIn: objects } = exports as unknown as { McpSignIn: DurableObjectNamespace<never> }
      await (objects.getByName(searchParams.get('name') as string) as unknown as McpSignIn).release()
    }
    if (/^\/(?:hold|release|state)$/.test(pathname)) return Response.json({ held, arrived })
    return worker.fetch(request, env, ctx)
  },
}
