/** Handlers that return the request context of their call. The header `X-Mode` decides what the option returns or throws. */
import { type Context, createServer, McpError, type Secret, secret, serve } from 'edgemcp'
import { bearer } from 'edgemcp/auth'
import { sessions } from 'edgemcp/sessions'
import { tasks } from 'edgemcp/tasks'
import * as z from 'zod'

declare module 'edgemcp' {
  interface RequestContext {
    readonly account?: string
    readonly subject?: string | undefined
    readonly greeting?: string
    readonly credentials?: { readonly key: Secret<string> }
  }
}

/** HTTP requests that the option was called for, by header `X-Account`. */
const calls = new Map<string, number>()

const server = createServer({ name: 'request-context', version: '1.0.0' })

/** The key is in reverse order: results are stored, and tests search what is stored for the key. */
const seen = ({ requestContext: { account, subject, greeting, credentials } }: Pick<Context, 'requestContext'>) =>
  JSON.stringify({ account, subject, greeting, key: credentials?.key.reveal().split('').reverse().join('') })

server.tool('seen', { description: 'Returns the request context' }, (_, ctx) => seen(ctx))
/** Connections that cannot be stored, by request context. */
const connections = new WeakMap<object, { uses: number }>()
function connectionOf({ requestContext }: Pick<Context, 'requestContext'>) {
  const connection = connections.get(requestContext) ?? { uses: 0 }
  connections.set(requestContext, connection)
  connection.uses += 1
  return connection
}
server.tool('connects', { description: 'Uses the connection of its call' }, (_, ctx) => String(connectionOf(ctx).uses))

server.tool('headers', { description: 'Returns headers of its HTTP request' }, (_, { request }) =>
  JSON.stringify([request?.headers.get('Authorization'), request?.headers.get('X-Account')]),
)
server.tool('shown', { description: 'Prints the request context', annotations: { readOnlyHint: true } }, (_, ctx) => {
  const { credentials } = ctx.requestContext
  console.log('A secret in a log:', credentials, credentials?.key)
  return `${credentials?.key} ${JSON.stringify(ctx.requestContext)}`
})
server.tool('confirm', { description: 'Asks, then returns the request context' }, async (_, ctx) => {
  const first = await ctx.once('first', () => `${ctx.requestContext.account}`)
  await ctx.elicit('sure', 'Sure?', z.object({}))
  return JSON.stringify({ first, now: JSON.parse(seen(ctx)) })
})
server.tool(
  'sleepy',
  { description: 'Sleeps, then returns the request context', task: true, inputSchema: z.object({ ms: z.number() }) },
  async ({ ms }, ctx) => {
    await ctx.sleep('night', ms)
    return JSON.stringify({ ...JSON.parse(seen(ctx)), hasRequest: ctx.request !== undefined })
  },
)
server.tool(
  'gated',
  {
    description: 'Waits for a URL, then returns the request context',
    annotations: { readOnlyHint: true },
    inputSchema: z.object({ gate: z.url() }),
  },
  async ({ gate }, ctx) => {
    ctx.log('info', 'waiting')
    await fetch(gate).then((response) => response.text())
    return JSON.stringify({ ...JSON.parse(seen(ctx)), hasRequest: ctx.request !== undefined })
  },
)
server.tool(
  'count',
  { description: 'Counts calls of the option', inputSchema: z.object({ of: z.string() }) },
  ({ of }) => String(calls.get(of) ?? 0),
)
server.prompt('seen', { description: 'Returns the request context' }, (_, ctx) => seen(ctx))
server.resource('context://me', { description: 'Returns the request context' }, (_, ctx) => seen(ctx))

server.intercept(async (call, next) => {
  if (call.params.name === 'connects') connectionOf(call)
  const outcome = await next()
  if (call.params.name !== 'seen' || outcome.type !== 'result') return outcome
  return { ...outcome, result: { ...outcome.result, _meta: { account: call.requestContext.account } } }
})

const auth = bearer({ verify: (token) => JSON.parse(atob(token)), allowAnonymous: true })

const worker = serve(server, {
  auth,
  plugins: [sessions(), tasks()],
  async requestContext(request, { principal, env }) {
    const account = request.headers.get('X-Account') ?? 'none'
    calls.set(account, (calls.get(account) ?? 0) + 1)
    switch (request.headers.get('X-Mode')) {
      case 'forbidden':
        throw new McpError('forbidden', `The account "${account}" is suspended`)
      case 'response':
        throw Response.json({ suspended: true }, { status: 402, headers: { 'X-Reason': 'payment' } })
      case 'failure':
        throw new Error('The database of accounts is unreachable')
      case 'date':
        return { account, since: new Date(0) }
      case 'function':
        return { account, credentials: { key: secret(() => 'x') } } as never
      case 'large':
        return { account, greeting: 'x'.repeat(20_000) }
      case 'text':
        return 'text' as never
    }
    const key = request.headers.get('X-Api-Key')
    return {
      account,
      subject: principal?.subject,
      greeting: (env as { GREETING: string }).GREETING,
      ...(key !== null && { credentials: { key: secret(key) } }),
    }
  },
})
export default worker
export const { McpSession, McpTask } = worker
