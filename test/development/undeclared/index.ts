/** Exports its Durable Object classes, which its configuration does not declare. */
import { createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'

const server = createServer({ name: 'undeclared', version: '1.0.0' })
const worker = serve(server, { plugins: [sessions()] })
server.tool('greet', { description: 'Greets' }, () => 'Hello')

export default worker
export const { McpSession } = worker
