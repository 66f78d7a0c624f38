/** Resources that a tool changes, and no other entries. */
import { env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'
import * as z from 'zod'
import { serverInfo } from './wire.ts'

const server = createServer(serverInfo)

for (const uri of ['item://{id}', 'other://{id}', 'fill://{id}'] as const) {
  server.resource(uri, { description: 'An item' }, ({ id }) => String(id))
}
server.tool(
  'touch',
  { description: 'Says that it changed', inputSchema: z.object({ uri: z.string() }) },
  async ({ uri }) => {
    await server.notify.resourceUpdated(uri)
    return `${uri.length} characters`
  },
)

const { SHARDS, KEEP_ALIVE } = env as unknown as Record<string, string>
const worker = serve(server, {
  limits: { keepAliveMs: Number(KEEP_ALIVE) },
  plugins: [sessions(), subscriptions({ shards: Number(SHARDS), listeners: 20_000, listenersPerAddress: 20_000 })],
})
export default worker
export const { McpSession, McpSubscriptions } = worker
