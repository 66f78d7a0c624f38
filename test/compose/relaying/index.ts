/** A gateway to upstreams that report progress and log. */
import { env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { proxy } from 'edgemcp/compose'
import { sessions } from 'edgemcp/sessions'

const { NEWER, OLDER } = env as unknown as Record<'NEWER' | 'OLDER', string>

const server = createServer({ name: 'relaying', version: '1.0.0' })
server.use(proxy(NEWER, { prefix: 'newer_' }))
server.use(proxy(OLDER, { prefix: 'older_' }))

// Only a write shows that a client has closed the connection of a stream.
const worker = serve(server, { limits: { keepAliveMs: 100 }, plugins: [sessions()] })
export default worker
export const { McpSession } = worker
