/** A tool that is to be a task, on a server without tasks. */
import { createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'

const server = createServer({ name: 'taskless', version: '1.0.0' })
const worker = serve(server, { plugins: [sessions()] })
server.tool('long', { description: 'Takes long', task: true }, () => 'done')
server.tool('print', { description: 'Prints' }, () => {
  console.log('printed')
  return 'printed'
})

export default worker
export const { McpSession } = worker
