/** Two servers with entries of the same names. */
import { createServer, serve } from 'edgemcp'
import { combine } from 'edgemcp/compose'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'

function declared(name: string) {
  const server = createServer({ name, version: '1.0.0' })
  const hammer = server.tool('hammer', { description: 'Hits a nail', enabled: true }, () => 'Hit')
  const note = server.resource('note://{id}', { description: 'A note' }, ({ id }) => id)
  server.prompt('greet', { description: 'Greets' }, () => 'Hello')
  const actions: Record<string, () => Promise<unknown>> = {
    enable: () => hammer.enable(),
    disable: () => hammer.disable(),
    update: () => note.updated({ id: '1' }),
    resourcesChanged: () => server.notify.resourcesChanged(),
    promptsChanged: () => server.notify.promptsChanged(),
    subscribers: () => server.subscribers('note://1'),
  }
  return { server, actions }
}

const [one, two] = [declared('one'), declared('two')]
const plugins = [subscriptions({ shards: 2 })] as const
const oneWorker = serve(one.server, { path: '/one/mcp', plugins: [sessions(), ...plugins] })
const twoWorker = serve(two.server, {
  path: '/two/mcp',
  plugins: [sessions(), ...plugins],
  durableObjects: { names: { McpSession: 'TwoSession', McpSubscriptions: 'TwoSubscriptions' } },
})

export default combine(oneWorker, twoWorker, async (request: Request) => {
  const [, name, action = ''] = new URL(request.url).pathname.split('/')
  const { actions } = name === 'one' ? one : two
  return Response.json((await actions[action]?.()) ?? null)
})
export const { McpSession, McpSubscriptions } = oneWorker
export const { McpSession: TwoSession, McpSubscriptions: TwoSubscriptions } = twoWorker
