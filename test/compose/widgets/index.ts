/** A gateway to two upstreams whose apps and skills have the same URIs, and an app of its own with that URI. */
import { env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { app } from 'edgemcp/apps'
import { proxy } from 'edgemcp/compose'
import { sessions } from 'edgemcp/sessions'

const { ONE, TWO } = env as unknown as Record<'ONE' | 'TWO', string>

const server = createServer({ name: 'widgets', version: '1.0.0' })
server.use(app('ui://widget/main.html', { description: 'Draws', html: '<p>own</p>' }))
server.use(proxy(ONE, { prefix: 'one_' }))
server.use(proxy(TWO, { prefix: 'two_' }))

const worker = serve(server, { plugins: [sessions()] })
export default worker
export const { McpSession } = worker
