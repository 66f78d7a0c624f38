/** A server with experimental capabilities, whose tool says which request called it. */
import { createServer, serve } from 'edgemcp'

const server = createServer({
  name: 'handshake',
  version: '1.0.0',
  experimental: { 'com.example/trial': { level: 1 } },
})

server.tool('request_id', { description: 'The id of its request' }, (_, ctx) => JSON.stringify(ctx.requestId ?? null))

const worker = serve(server)
export default worker
export const { McpSession, McpUpdates } = worker
