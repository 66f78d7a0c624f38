/** An endpoint with change notifications and without sessions, beside a Worker that has the other paths. */
import { createServer, serve } from 'edgemcp'
import { combine } from 'edgemcp/compose'
import { subscriptions } from 'edgemcp/subscriptions'

const server = createServer({ name: 'told', version: '1.0.0' })
server.tool('greet', { description: 'Greets' }, () => 'Hello')
const worker = serve(server, { plugins: [subscriptions()] })

export const { McpSubscriptions } = worker
export default combine(worker, (request: Request) => new Response(`The app has ${new URL(request.url).pathname}`))
