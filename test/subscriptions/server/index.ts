/** A server that notifies the recipients that a test names: `POST /notify` calls a method of `server.notify`. */
import { type ChangeNotifier, createServer, McpError, type Principal, serve } from 'edgemcp'
import { subscriptions } from 'edgemcp/subscriptions'

const server = createServer({ name: 'recipients', version: '1.0.0' })
server.tool('session_id', { description: 'Returns the session id' }, (_, ctx) => ctx.session?.id ?? 'none')
server.prompt('prompt', { description: 'A prompt' }, () => '')
server.resource('note://{id}', { description: 'A note' }, ({ id }) => id)

const worker = serve(server, {
  limits: { keepAliveMs: 50, streamAfterMs: 600_000 },
  auth: {
    async authenticate(request): Promise<Principal | undefined> {
      const [, token] = /^Bearer (\S+)$/.exec(request.headers.get('Authorization') ?? '') ?? []
      if (!token) return undefined
      try {
        return { scopes: [], claims: {}, ...JSON.parse(atob(token)) }
      } catch {
        throw new McpError('unauthorized', 'The token is invalid')
      }
    },
  },
  plugins: [subscriptions({ shards: 3 })],
})
export const { McpSession, McpSubscriptions } = worker

type Notify = { method: keyof ChangeNotifier; args: never[] }

export default {
  async fetch(request, env, ctx) {
    if (new URL(request.url).pathname !== '/notify') return worker.fetch(request, env, ctx)
    try {
      const { method, args } = await request.json<Notify>()
      await (server.notify[method] as (...args: never[]) => Promise<void>)(...args)
      return new Response(null, { status: 204 })
    } catch (problem) {
      return new Response((problem as Error).message, { status: 400 })
    }
  },
} satisfies ExportedHandler
