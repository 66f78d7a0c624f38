/** A gateway to an upstream that fails. */
import { env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { proxy } from 'edgemcp/compose'
import { sessions } from 'edgemcp/sessions'

const { UPSTREAM } = env as unknown as Record<'UPSTREAM', string>

const server = createServer({ name: 'resilience', version: '1.0.0' })
server.use(proxy(UPSTREAM, { retries: 2, circuitBreaker: { failures: 20, pause: '1s' } }))

const worker = serve(server, { plugins: [sessions()] })
export default worker
export const { McpSession } = worker
