/**
 * A server that holds refreshes between the moment at which they read their grant and that at which they write it, and calls to objects of
 * sign-in. A test can move its clock.
 */
import { env, exports } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { github, signIn } from 'edgemcp/sign-in'
import { withTestClock } from 'edgemcp/testing/timed'

const vars = env as unknown as { GITHUB: string }

const server = createServer({ name: 'notes', version: '1.0.0' })
server.tool('whoami', { description: 'Returns the user', scopes: ['notes:read'] }, (_, { principal }) =>
  String(principal?.subject),
)
server.tool('starred', { description: 'Returns the token for GitHub', scopes: [] }, async (_, ctx) =>
  ctx.upstream('github'),
)
const gitHub = github({ clientId: 'edge', clientSecret: 'hush', url: vars.GITHUB })
const auth = signIn({ with: gitHub })
const main = serve(server, { auth, plugins: [sessions()] })
const worker = withTestClock({ default: main, McpSession: main.McpSession, McpSignIn: main.McpSignIn })
type Plain = InstanceType<typeof worker.McpSignIn>

/** Settled when what is held may go on, with whether its answer is lost. */
let gate: PromiseWithResolvers<boolean> | undefined
/** What is held next: a refresh, what it stores at its end, or a call. */
let next: string | null = null
let held = 0
/** Token requests that reached the object of their grant. */
let arrived = 0
/** Requests that may read or end grants: the platform lets an invocation send so many. */
let left = Number.POSITIVE_INFINITY

function count(key: string): void {
  if (key.startsWith('grant:') && left-- <= 0) throw new Error('Too many subrequests.')
}

async function hold(what: string): Promise<boolean> {
  if (next !== what) return false
  next = null
  gate = Promise.withResolvers()
  held += 1
  return gate.promise
}

// The library wraps the key of a grant with each new token.
const wrapKey = crypto.subtle.wrapKey.bind(crypto.subtle)
crypto.subtle.wrapKey = async (...args: Parameters<typeof wrapKey>) => {
  await hold('refresh')
  return wrapKey(...args)
}

// Only the response to a refresh is encrypted here: the library encrypts what is stored with a grant when it is created.
const encrypt = crypto.subtle.encrypt.bind(crypto.subtle)
crypto.subtle.encrypt = async (...args: Parameters<typeof encrypt>) => {
  await hold('finish')
  return encrypt(...args)
}

export const { McpSession } = worker
export class McpSignIn extends worker.McpSignIn {
  override async read(...args: Parameters<Plain['read']>) {
    count(args[0])
    return super.read(...args)
  }

  override async remove(key: string) {
    count(key)
    return super.remove(key)
  }

  override answer(...args: Parameters<Plain['answer']>) {
    arrived += 1
    return super.answer(...args)
  }

  override async keepUpstream(...args: Parameters<Plain['keepUpstream']>) {
    const isLost = await hold('keepUpstream')
    await super.keepUpstream(...args)
    if (isLost) throw new Error('Network connection lost.')
  }

  /** Holds the list with which a sign-in looks whether the user has grants. */
  override async list(prefix: string) {
    const listed = await super.list(prefix)
    if (prefix === 'grant:') await hold('list')
    return listed
  }

  /** Lets go on what is held, which only its own object can do. */
  release(isLost: boolean): void {
    gate?.resolve(isLost)
    gate = undefined
  }
}

export default {
  async fetch(request: Request, env: unknown, ctx: ExecutionContext): Promise<Response> {
    const { origin, pathname, searchParams } = new URL(request.url)
    if (pathname === '/hold') {
      held = arrived = 0
      next = searchParams.get('what') ?? 'refresh'
    }
    if (pathname === '/release') {
      const { McpSignIn: objects } = exports as unknown as { McpSignIn: DurableObjectNamespace<never> }
      const object = objects.getByName(searchParams.get('name') as string) as unknown as McpSignIn
      await object.release(searchParams.has('lost'))
    }
    if (pathname === '/sign-out') {
      left = Number(searchParams.get('limit') ?? 'Infinity')
      const user = { issuer: origin, subject: searchParams.get('user') as string }
      const ended = await auth.signOut(user).catch((problem: Error) => problem.message)
      left = Number.POSITIVE_INFINITY
      return Response.json(ended)
    }
    if (/^\/(?:hold|release|state)$/.test(pathname)) return Response.json({ held, arrived })
    return worker.default.fetch(request, env as never, ctx)
  },
}
