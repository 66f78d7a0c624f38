/** A server whose users sign in, and which counts what this costs. `/counted` returns the counts, and resets them. */
import { env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { github, signIn } from 'edgemcp/sign-in'
import { putForward } from '../counted/clock.ts'
import { countCalls, countStorage } from '../counted/counting.ts'
import { noTally } from '../counted/tally.ts'

const vars = env as unknown as { GITHUB: string }

const server = createServer({ name: 'counted', version: '1.0.0' })
server.tool('whoami', { description: 'Returns the user', scopes: ['notes:read'] }, (_, { principal }) =>
  String(principal?.subject),
)
server.tool('upstream', { description: 'Returns a token', scopes: ['notes:read'] }, (_, ctx) => ctx.upstream('github'))

const gitHub = github({ clientId: 'edge', clientSecret: 'hush', url: vars.GITHUB })
const worker = serve(server, { auth: signIn({ with: gitHub }), plugins: [sessions()] })

const tally = { ...noTally }
let http = 0
/** Names of the objects that were started. */
const names = new Set<string>()

export const { McpSession } = worker
export class McpSignIn extends worker.McpSignIn {
  constructor(state: DurableObjectState, env: never) {
    super(countStorage(state, tally), env)
    tally.woken += 1
    names.add(state.id.name as string)
  }
}
countCalls(McpSignIn, worker.McpSignIn, tally)

export default {
  async fetch(request: Request, env: unknown, ctx: ExecutionContext): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname === '/counted') {
      const counts = { http, ...tally, names: [...names] }
      Object.assign(tally, noTally)
      http = 0
      putForward(Number(searchParams.get('later') ?? 0))
      return Response.json(counts)
    }
    http += 1
    return worker.fetch(request, env, ctx)
  },
}
