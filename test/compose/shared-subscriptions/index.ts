/** A server that is mounted in two others, one of which is mounted in a third one. */
import { createServer, serve } from 'edgemcp'
import { combine, mount } from 'edgemcp/compose'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'

const part = createServer({ name: 'part', version: '1.0.0' })
const note = part.resource('note://{id}', { description: 'A note' }, ({ id }) => `Note ${id}`)
const shout = part.tool('shout', { description: 'Shouts', enabled: false }, () => 'HELLO')

const one = createServer({ name: 'one', version: '1.0.0' }).use(mount(part))
const two = createServer({ name: 'two', version: '1.0.0' }).use(mount(part))
// Reaches the changes of the part by way of `one`.
const outer = createServer({ name: 'outer', version: '1.0.0' }).use(mount(one))

const plugins = [subscriptions()] as const
const worker = serve(one, { path: '/one', plugins: [sessions(), ...plugins] })
const twoWorker = serve(two, {
  path: '/two',
  plugins: [sessions(), ...plugins],
  durableObjects: { names: { McpSession: 'TwoSession', McpSubscriptions: 'TwoSubscriptions' } },
})
const outerWorker = serve(outer, {
  path: '/outer',
  plugins: [sessions(), ...plugins],
  durableObjects: { names: { McpSession: 'OuterSession', McpSubscriptions: 'OuterSubscriptions' } },
})

export default combine(worker, twoWorker, outerWorker, async (request: Request) => {
  const { pathname, searchParams } = new URL(request.url)
  if (pathname === '/update') await note.updated({ id: searchParams.get('id') as string })
  if (pathname === '/enable') await shout.enable()
  if (pathname === '/disable') await shout.disable()
  return new Response(null, { status: 204 })
})
export const { McpSession, McpSubscriptions } = worker
export const { McpSession: TwoSession, McpSubscriptions: TwoSubscriptions } = twoWorker
export const { McpSession: OuterSession, McpSubscriptions: OuterSubscriptions } = outerWorker
