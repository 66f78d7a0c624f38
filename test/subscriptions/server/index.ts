/** A server that notifies the recipients that a test names: `POST /notify` calls a method of `server.notify`. */
import { type ChangeNotifier, createServer, McpError, type Principal, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { subscriptions, type TopicRecipients } from 'edgemcp/subscriptions'

const server = createServer({ name: 'recipients', version: '1.0.0' })
server.tool('session_id', { description: 'Returns the session id' }, (_, ctx) => ctx.session?.id ?? 'none')
server.tool('connect', { description: 'Sends the user to a page' }, async (_, ctx) => {
  const elicitationId = await ctx.once('id', () => `connect-${crypto.randomUUID()}`)
  const url = `http://127.0.0.1:8787/connect?id=${elicitationId}&session=${ctx.session?.id}`
  const { action } = await ctx.elicitUrl('page', 'Connect', url, { elicitationId })
  if (action === 'accept') ctx.elicitationComplete('page')
  return `${action} ${elicitationId}`
})
server.tool('sign_in', { description: 'Requires a page' }, async (_, ctx) => {
  await ctx.elicitUrl('page', 'Sign in', 'https://example.com/', { required: true, elicitationId: 'own-id' })
  return 'done'
})
server.prompt('prompt', { description: 'A prompt' }, () => '')
server.resource('note://{id}', { description: 'A note' }, ({ id }) => id)

const worker = serve(server, {
  limits: { keepAliveMs: 50, streamAfterMs: 600_000 },
  auth: {
    allowAnonymous: true,
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
  plugins: [sessions(), subscriptions({ shards: 3 })],
})
export const { McpSession, McpSubscriptions } = worker

type Count = [uri: string, recipients: TopicRecipients]
/** Recipients that JSON cannot carry. */
const unusual: Readonly<Record<string, object>> = {
  map: new Map([['tenant', 'acme']]),
  date: new Date(0),
  // Members of a principal that does not exist.
  nobody: { issuer: undefined, tenant: undefined },
  promise: Promise.resolve({ issuer: 'https://one.example', tenant: 'acme' }),
}
type Notify = { method: keyof ChangeNotifier; args: never[] }

export default {
  async fetch(request, env, ctx) {
    const { pathname } = new URL(request.url)
    if (pathname !== '/notify' && pathname !== '/subscribers') return worker.fetch(request, env, ctx)
    try {
      if (pathname === '/subscribers') return Response.json(await server.subscribers(...(await request.json<Count>())))
      const { method, args } = await request.json<Notify>()
      await (server.notify[method] as (...args: never[]) => Promise<void>)(
        ...args.map((arg: { unusual?: string } | null) => (arg?.unusual ? unusual[arg.unusual] : arg) as never),
      )
      return new Response(null, { status: 204 })
    } catch (problem) {
      return new Response((problem as Error).message, { status: 400 })
    }
  },
} satisfies ExportedHandler
