/** One server under every policy: `/local/mcp`, `/public/mcp`, `/browser/mcp`, `/named/mcp`. */
import { createServer, policies, serve } from 'edgemcp'
import { bearer } from 'edgemcp/auth'

const server = createServer({ name: 'pages', version: '1.0.0' })
server.tool('greet', { description: 'Greets', scopes: [] }, () => 'Hello')

const auth = bearer({
  issuer: 'https://auth.example.com',
  verify: (token) => (token === 'good' ? { iss: 'https://auth.example.com', sub: 'ada' } : undefined),
})
const origins = ['https://app.example.com', 'chrome-extension://abcdefghijklmnop']

const workers = Object.entries({
  local: policies.local,
  public: policies.public,
  browser: policies.browser({ origins }),
  named: policies.browser({ origins, hosts: ['mcp.example.com'] }),
}).map(([name, policy]) => ({
  name,
  worker: serve(server, { ...policy, auth, path: `/${name}/mcp` }),
}))

export default {
  async fetch(request, env, ctx) {
    const [, first] = new URL(request.url).pathname.split('/')
    const found = workers.find(({ name }) => name === first)
    return found ? found.worker.fetch(request, env, ctx) : new Response(null, { status: 404 })
  },
} satisfies ExportedHandler
