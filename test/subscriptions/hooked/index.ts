/** A server with a plugin that records the calls of its hooks, in the order of the calls: `/events` returns them. */
import { createServer, McpError, type OnError, type Plugin, type Principal, serve } from 'edgemcp'
import { combine } from 'edgemcp/compose'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'

declare module 'edgemcp' {
  interface RequestContext {
    readonly account?: string
  }
}

const events: object[] = []

const recording: Plugin = {
  name: 'recording',
  onInitialize({ client, principal, session, protocolVersion, requestContext }, { identity }) {
    events.push({ hook: 'onInitialize', identity, client, principal, session, protocolVersion, requestContext })
    if (client?.name === 'banned') throw new McpError('forbidden', 'This client is banned')
    if (client?.name === 'broken') throw new Error('The hook fails')
  },
  async onSubscribe({ uri, session, requestContext, principal }) {
    events.push({ hook: 'onSubscribe', uri, session, account: requestContext.account, subject: principal?.subject })
    if (uri === 'note://down') throw new Error('The database is down')
    if (uri === 'note://full') throw new McpError('too_many_requests', 'The note has enough subscribers')
  },
  onUnsubscribe({ uri, session, client }) {
    events.push({ hook: 'onUnsubscribe', uri, session, client: client?.name })
    if (uri === 'note://broken') throw new Error('The hook fails')
  },
  onSessionEnd(event) {
    events.push({ hook: 'onSessionEnd', ...event })
    if (event.client?.name === 'broken at the end') throw new Error('The hook fails')
  },
}

function declared(name: string) {
  const server = createServer({ name, version: '1.0.0' })
  server.tool('session_id', { description: 'Returns the session id' }, (_, ctx) => ctx.session?.id ?? 'none')
  server.resource('note://{id}', { description: 'A note' }, ({ id }) => id)
  return server
}

const options = {
  limits: { keepAliveMs: 50, streamAfterMs: 600_000 },
  auth: {
    allowAnonymous: true,
    authenticate: async (request: Request): Promise<Principal | undefined> => {
      const [, subject] = /^Bearer (\S+)$/.exec(request.headers.get('Authorization') ?? '') ?? []
      return subject ? { issuer: 'https://issuer.example', subject, scopes: [], claims: { secret: 'x' } } : undefined
    },
  },
  requestContext: () => ({ account: 'acme' }),
}

const onError: OnError = (error, { method, principal, protocolVersion, params, errorId }) => {
  const message = (error as Error).message
  events.push({ hook: 'onError', message, method, subject: principal?.subject, protocolVersion, params, errorId })
}

const worker = serve(declared('hooked'), { ...options, onError, plugins: [sessions(), subscriptions(), recording] })
const short = serve(declared('short'), {
  ...options,
  path: '/short/mcp',
  plugins: [sessions({ ttl: '1s' }), subscriptions(), recording],
  durableObjects: { names: { McpSession: 'ShortSession', McpSubscriptions: 'ShortSubscriptions' } },
})
export const { McpSession, McpSubscriptions } = worker
export const { McpSession: ShortSession, McpSubscriptions: ShortSubscriptions } = short

const app = combine(worker, short)

export default {
  fetch(request, env, ctx) {
    if (new URL(request.url).pathname !== '/events') return app.fetch(request, env, ctx)
    return Response.json(request.method === 'DELETE' ? events.splice(0) : events)
  },
} satisfies ExportedHandler
