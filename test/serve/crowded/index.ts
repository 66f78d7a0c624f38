/** Room for three streams of changes, two for each person. Tokens are people. */
import { createServer, serve } from 'edgemcp'
import { updates } from 'edgemcp/updates'

const server = createServer({ name: 'crowded', version: '1.0.0' })
server.tool('greet', { description: 'Says hello' }, () => 'Hello!')

const worker = serve(server, {
  // Who leaves is noticed soon.
  limits: { keepAlive: 100 },
  updates: updates({ listeners: 3, listenersEach: 2 }),
  auth: {
    async authenticate(request) {
      const subject = String(request.headers.get('Authorization'))
      return { issuer: 'https://issuer.example', subject, scopes: [], claims: {} }
    },
  },
})
export default worker
export const { McpSession, McpUpdates } = worker
