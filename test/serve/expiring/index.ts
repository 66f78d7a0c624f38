/** A server whose tokens say when they expire, as `<name>.<milliseconds since 1970>`, and that revokes tokens. */
import { createServer, serve } from 'edgemcp'
import { bearer } from 'edgemcp/auth'
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

const worker = serve(server, {
  plugins: [subscriptions()],
  limits: { streamAfterMs: 100 },
  auth: bearer({
    clockTolerance: 0,
    verify(token) {
      const [sub = '', expires = ''] = token.split('.')
      if (revoked.has(token)) return undefined
      return { iss: 'https://issuer.example', sub, ...(expires !== 'never' && { exp: Number(expires) / 1000 }) }
    },
  }),
})
export const { McpSession, McpSubscriptions } = worker

export default {
  fetch(request, env, ctx) {
    const url = new URL(request.url)
    const token = url.searchParams.get('revoke')
    if (token !== null) {
      revoked.add(token)
      return new Response()
    }
    return setClock(url) ?? worker.fetch(request, env, ctx)
  },
} satisfies ExportedHandler
