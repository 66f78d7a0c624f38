/** Has tasks(), and a configuration that does not declare the class of tasks. */
import { createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { tasks } from 'edgemcp/tasks'

const server = createServer({ name: 'classless', version: '1.0.0' })
server.tool('long', { description: 'A task', task: true }, () => 'done')

const worker = serve(server, { plugins: [sessions(), tasks()] })
export default worker
export const { McpSession } = worker
