/** Servers with an inspector that was switched on, as deployments have it. */
import { createServer, type ServeOptions, serve } from 'edgemcp'
import { event, events } from 'edgemcp/events'
import { inspector } from 'edgemcp/inspector'
import * as z from 'zod'

type Auth = NonNullable<ServeOptions['auth']>

const server = () => createServer({ name: 'deployed', title: '<i>Deployed</i>', version: '7.7.7' })
const auth = (): Auth => ({ allowAnonymous: true, authenticate: async () => undefined })

const [own, another] = [auth(), auth()]
const started = event('started', { payloadSchema: z.object({ count: z.int() }) })
const open = serve(server(), { path: '/api/mcp', plugins: [inspector({ open: true }), events([started])] })
export const { McpEvents } = open

const servers: Record<string, { fetch: ReturnType<typeof serve>['fetch'] }> = {
  'none.localhost': serve(server()),
  'guarded.localhost': serve(server(), { auth: own, plugins: [inspector({ auth: own })] }),
  'open.localhost': open,
  'other.localhost': serve(server(), { auth: own, plugins: [inspector({ auth: another })] }),
}

export default {
  fetch(request: Request, env: unknown, context: ExecutionContext) {
    const { hostname, pathname } = new URL(request.url)
    if (pathname === '/start') {
      try {
        inspector({} as { open: true })
      } catch (problem) {
        return new Response((problem as Error).message)
      }
    }
    return servers[hostname]?.fetch(request, env, context)
  },
}
