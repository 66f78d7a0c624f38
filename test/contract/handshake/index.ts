/** A server with experimental capabilities, whose tool says which request called it. */
import { createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'

const server = createServer({
  name: 'handshake',
  version: '1.0.0',
  experimental: { 'com.example/trial': { level: 1 } },
})

server.tool('request_id', { description: 'The id of its request' }, (_, ctx) => JSON.stringify(ctx.requestId ?? null))

// A slow machine must not turn a JSON response into an event stream.
const worker = serve(server, { limits: { streamAfterMs: 600_000 }, plugins: [sessions()] })
export default worker
export const { McpSession } = worker
