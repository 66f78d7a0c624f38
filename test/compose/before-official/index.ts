/** A server that has nothing but what one of the official SDK has. */
import { env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { proxy } from 'edgemcp/compose'
import { sessions } from 'edgemcp/sessions'

const { OFFICIAL } = env as unknown as { OFFICIAL: string }

const server = createServer({ name: 'before', version: '1.0.0' })
server.use(proxy(OFFICIAL, { prefix: 'desk_' }))

const worker = serve(server, { plugins: [sessions()] })
export default worker
export const { McpSession } = worker
