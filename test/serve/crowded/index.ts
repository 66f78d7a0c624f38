/** Room for five streams of changes, two for each person and three for each address. Tokens are people. */
import { createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'

const server = createServer({ name: 'crowded', version: '1.0.0' })
server.tool('greet', { description: 'Says hello' }, () => 'Hello!')

server.resource('note://{+id}', { description: 'Notes' }, ({ id }) => id)

const worker = serve(server, {
  // Who leaves is noticed soon.
  limits: { keepAliveMs: 100 },
  auth: {
    allowAnonymous: true,
    async authenticate(request) {
      const subject = request.headers.get('Authorization')
      if (subject === null) return undefined
      return { issuer: 'https://issuer.example', subject, scopes: [], claims: {} }
    },
  },
  plugins: [
    sessions(),
    subscriptions({ listeners: 5, listenersEach: 2, listenersPerAddress: 3, storageBytes: 2_000_000 }),
  ],
})
export default worker
export const { McpSession, McpSubscriptions } = worker
