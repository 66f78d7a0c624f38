/** Two servers with a tool that publishes a change and does not wait for it. Only the one at `/heard/mcp` has `subscriptions()`. */
import { createServer, type Server, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'

function newServer(name: string): Server {
  const server = createServer({ name, version: '1.0.0' })
  const note = server.resource('note://1', { description: 'A note' }, () => 'text')
  server.tool('edit', { description: 'Changes the note' }, () => {
    void note.updated()
    return 'edited'
  })
  server.tool('edit_and_return', { description: 'Changes the note, and returns the promise' }, async () => {
    const edit = async () => note.updated()
    return Promise.all([edit()]).then(() => 'edited')
  })
  server.tool('edit_and_catch', { description: 'Changes the note, and catches the failure' }, async () => {
    await note.updated().catch(() => {})
    return 'edited'
  })
  const toggled = server.tool('toggled', { description: 'Is hidden', enabled: false }, () => 'toggled')
  server.tool('enable', { description: 'Shows the hidden tool' }, () => {
    void toggled.enable()
    return 'enabled'
  })
  server.tool('edit_and_wait', { description: 'Changes the note, and waits' }, async () => {
    await note.updated()
    return 'edited'
  })
  return server
}

const heard = serve(newServer('heard'), { path: '/heard/mcp', plugins: [sessions(), subscriptions()] })
const unheard = serve(newServer('unheard'), {
  path: '/unheard/mcp',
  durableObjects: { names: { McpSession: 'UnheardSession' } },
  plugins: [sessions()],
})

export default {
  fetch: (request: Request, env: unknown, ctx: ExecutionContext) =>
    (new URL(request.url).pathname.startsWith('/unheard/') ? unheard : heard).fetch(request, env, ctx),
}
export const { McpSession, McpSubscriptions } = heard
export const { McpSession: UnheardSession } = unheard
