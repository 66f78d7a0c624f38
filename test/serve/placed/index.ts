/** A server whose objects must stay in the European Union. */
import { createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'

const server = createServer({ name: 'placed', version: '1.0.0' })
server.tool('touch', { description: 'Changes the note' }, async () => {
  await note.updated()
})
const note = server.resource('note://1', { name: 'note', description: 'A note' }, () => 'one')

const worker = serve(server, {
  plugins: [sessions(), subscriptions()],
  durableObjects: { jurisdiction: 'eu', locationHint: 'weur' },
})
export default worker
export const { McpSession, McpSubscriptions } = worker
