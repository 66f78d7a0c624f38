/** Handlers that fail on the server's side: each way, as a tool, a prompt and a resource. */
import { createServer, McpError, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'

const server = createServer({ name: 'reported', version: '1.0.0' })

const fail = (what: string): never => {
  throw new McpError('internal_error', `${what} failed`)
}
/** As a handler in JavaScript might: types refuse it. */
const nothingUseful = (): never => Symbol('nothing') as never

server.tool('failing', { description: 'Throws an internal error' }, () => fail('failing tool'))
server.prompt('failing', { description: 'Throws an internal error' }, () => fail('failing prompt'))
server.prompt('wrong', { description: 'Returns nothing that a prompt is' }, nothingUseful)
server.resource('fail://ing', { name: 'failing', description: 'Throws' }, () => fail('failing resource'))
server.resource('wrong://it', { name: 'wrong', description: 'Returns nothing useful' }, nothingUseful)

const worker = serve(server, { plugins: [sessions()] })
export default worker
export const { McpSession } = worker
