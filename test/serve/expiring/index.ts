/** A server whose tokens say when they expire, as `<name>.<milliseconds since 1970>`, and that revokes tokens. */
import { createServer, serve } from 'edgemcp'
import { bearer, oauthProvider } from 'edgemcp/auth'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'
import * as z from 'zod'
import { setClock } from '../../auth/clock.ts'

const server = createServer({ name: 'expiring', version: '1.0.0' })
const note = server.resource('note://{id}', { description: 'A note' }, ({ id }) => id)
server.tool(
  'change',
  { description: 'Changes notes', inputSchema: z.object({ ids: z.array(z.string()) }) },
  async ({ ids }) => void (await Promise.all(ids.map((id) => note.updated({ id })))),
)

let arrive = () => {}
server.tool('walk', { description: 'Sends progress, and ends when another call says so' }, async (_, ctx) => {
  ctx.progress(1, 2)
  await new Promise<void>((resolve) => {
    arrive = resolve
  })
  ctx.progress(2, 2)
  return 'arrived'
})
server.tool('wait', { description: 'Sends nothing, and ends when another call says so' }, async () => {
  await new Promise<void>((resolve) => {
    arrive = resolve
  })
  return 'arrived'
})
server.tool('arrive', { description: 'Ends the walk' }, () => arrive())

const revoked = new Set<string>()

const limits = { streamAfterMs: 100 }
const worker = serve(server, {
  limits,
  auth: bearer({
    clockTolerance: 0,
    verify(token) {
      const [sub = '', expires = ''] = token.split('.')
      if (revoked.has(token)) return undefined
      return { iss: 'https://issuer.example', sub, ...(expires !== 'never' && { exp: Number(expires) / 1000 }) }
    },
  }),
  plugins: [sessions(), subscriptions()],
})
export const { McpSession, McpSubscriptions } = worker

/** Behind an OAuth provider, which hands over when the token expires in seconds. */
const provided = serve(server, {
  limits,
  path: '/provided/mcp',
  auth: oauthProvider(({ sub }: { sub: string }) => ({
    issuer: 'https://issuer.example',
    subject: sub,
    scopes: [],
    claims: {},
  })),
  plugins: [subscriptions()],
  durableObjects: { names: { McpSubscriptions: 'ProvidedSubscriptions' } },
})
export const { McpSubscriptions: ProvidedSubscriptions } = provided

function provide(request: Request, env: unknown, ctx: ExecutionContext): Promise<Response> {
  const token = request.headers.get('Authorization')?.replace('Bearer ', '') ?? ''
  const [sub = '', expires = ''] = token.split('.')
  if (Number(expires) < Date.now()) return Promise.resolve(new Response(null, { status: 401 }))
  const auth = { scope: [], expiresAt: Number(expires) / 1000 }
  return provided.fetch(request, env, Object.create(ctx, { props: { value: { sub } }, auth: { value: auth } }))
}

export default {
  fetch(request, env, ctx) {
    const url = new URL(request.url)
    const token = url.searchParams.get('revoke')
    if (token !== null) {
      revoked.add(token)
      return new Response()
    }
    if (url.pathname.startsWith('/provided/')) return provide(request, env, ctx)
    return setClock(url) ?? worker.fetch(request, env, ctx)
  },
} satisfies ExportedHandler
