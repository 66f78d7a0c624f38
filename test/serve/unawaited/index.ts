/** Two servers with a tool that publishes a change and does not wait for it. Only the one at `/heard/mcp` has `subscriptions()`. */
import { createServer, type Server, serve } from 'edgemcp'
import { subscriptions } from 'edgemcp/subscriptions'

function newServer(name: string): Server {
  const server = createServer({ name, version: '1.0.0' })
  const note = server.resource('note://1', { description: 'A note' }, () => 'text')
  server.tool('edit', { description: 'Changes the note' }, () => {
    void note.updated()
    return 'edited'
  })
  return server
}

const heard = serve(newServer('heard'), { path: '/heard/mcp', plugins: [subscriptions()] })
const unheard = serve(newServer('unheard'), { path: '/unheard/mcp' })

export default {
  fetch: (request: Request, env: unknown, ctx: ExecutionContext) =>
    (new URL(request.url).pathname.startsWith('/unheard/') ? unheard : heard).fetch(request, env, ctx),
}
export const { McpSession, McpSubscriptions } = heard
