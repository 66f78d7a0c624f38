/** Exports its Durable Object classes, which its configuration does not declare. */
import { createServer, serve } from 'edgemcp'

const server = createServer({ name: 'undeclared', version: '1.0.0' })
const worker = serve(server)
server.tool('greet', { description: 'Greets' }, () => 'Hello')

export default worker
export const { McpSession } = worker
