/** A server that stands before two others. */
import { env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { proxy } from 'edgemcp/compose'

const { NEWER, OLDER } = env as unknown as { NEWER: string; OLDER: string }

const server = createServer({ name: 'gateway', version: '1.0.0' })
server.use(
  proxy(NEWER, {
    prefix: 'newer_',
    headers: (principal): Record<string, string> => (principal ? { 'X-Name': principal.subject } : {}),
  }),
)
server.use(proxy(OLDER, { prefix: 'older_' }))
server.use(proxy('http://127.0.0.1:9/mcp', { prefix: 'nobody_' }))

const worker = serve(server, {
  auth: {
    async authenticate(request) {
      const subject = request.headers.get('Authorization')?.replace('Bearer ', '')
      return subject ? { issuer: 'https://names.example', subject, scopes: [], claims: {} } : undefined
    },
  },
})
export default worker
export const { McpSession, McpUpdates } = worker
