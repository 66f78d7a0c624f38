/** A server with tasks whose objects that store ends of access fail as often as a test says. */
import { env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { github, signIn } from 'edgemcp/sign-in'
import { tasks } from 'edgemcp/tasks'
import * as z from 'zod'

const vars = env as unknown as { GITHUB: string }
const server = createServer({ name: 'notes', version: '1.0.0' })
server.tool('whoami', { description: 'Returns the user', scopes: ['notes:read'] }, (_, { principal }) =>
  String(principal?.subject),
)
server.tool('confirm', { description: 'Asks', task: true, scopes: ['notes:read'] }, async (_, ctx) => {
  await ctx.elicit('sure', 'Sure?', z.object({}))
  return ctx.once('effect', () => 'went on')
})
const auth = signIn({ with: github({ clientId: 'edge', clientSecret: 'hush', url: vars.GITHUB }) })
const worker = serve(server, { auth, plugins: [sessions(), tasks()] })

/** Writes of ends that fail next. */
let failing = 0
type Plain = InstanceType<typeof worker.McpSignIn>

export const { McpSession, McpTask } = worker
export class McpSignIn extends worker.McpSignIn {
  override async write(...args: Parameters<Plain['write']>) {
    if (args[0].startsWith('ended:') && failing > 0) {
      failing -= 1
      throw new Error('Network connection lost.')
    }
    return super.write(...args)
  }
}

export default {
  async fetch(request: Request, env: unknown, ctx: ExecutionContext): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname !== '/fail') return worker.fetch(request, env as never, ctx)
    failing = Number(searchParams.get('times'))
    return Response.json(failing)
  },
}
