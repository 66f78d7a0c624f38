/** An endpoint with CORS headers of its own, the route of a plugin, and below `/api` a route of the Worker behind a guard. */
import { createGuard, createServer, type Plugin, policies, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'

const server = createServer({ name: 'cross-origin', version: '1.0.0' })
server.tool('greet', { description: 'Greets' }, () => 'Hello')

const report: Plugin = {
  name: 'report',
  routes: () => [
    {
      path: '/report',
      methods: ['GET'],
      handle: ({ headers }) =>
        Response.json({ account: headers.get('cf-account-id') }, { headers: { 'X-Report-Id': 'r1' } }),
    },
  ],
}
const policy = policies.browser({ origins: ['http://app.example.com'] })
const cors = { headers: ['cf-account-id'], exposeHeaders: ['X-Report-Id'], maxAgeSeconds: 600 }

const worker = serve(server, { ...policy, cors, plugins: [sessions(), report] })
export const { McpSession } = worker

const guard = createGuard({ ...policy, cors, methods: ['GET', 'PUT'] })

const cookies = { 'Access-Control-Allow-Origin': '*', 'Access-Control-Allow-Credentials': 'true' }

export default {
  async fetch(request, env, ctx) {
    const { pathname } = new URL(request.url)
    // The response of another service.
    if (pathname === '/wrapped') return guard.withCors(new Response('', { headers: cookies }), request)
    if (!pathname.startsWith('/api/')) return worker.fetch(request, env, ctx)
    const answer = guard.reject(request) ?? guard.preflight(request)
    if (answer) return answer
    const headers = { 'X-Report-Id': 'r2', Vary: 'Accept' }
    return guard.withCors(Response.json({ method: request.method }, { headers }), request)
  },
} satisfies ExportedHandler
