/** A gateway without tools of its own, whose upstream changes its list. A token is a tenant. */
import { env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { proxy } from 'edgemcp/compose'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'

const { UPSTREAM } = env as unknown as Record<'UPSTREAM', string>

const server = createServer({ name: 'changing', version: '1.0.0' })
server.use(proxy(UPSTREAM, { prefix: 'up_' }))

const auth = {
  async authenticate(request: Request) {
    const tenant = request.headers.get('Authorization')?.replace('Bearer ', '') ?? ''
    return { issuer: 'https://names.example', subject: 'ada', tenant, scopes: [], claims: {} }
  },
}
const worker = serve(server, { auth, plugins: [sessions(), subscriptions()] })
export default worker
export const { McpSession, McpSubscriptions } = worker
