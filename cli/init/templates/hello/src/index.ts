import { createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import * as z from 'zod'

const server = createServer({ name: '{{name}}', version: '1.0.0' })

server.tool(
  'greet',
  { description: 'Greet someone by name', inputSchema: z.object({ name: z.string() }) },
  ({ name }) => {
    return `Hello, ${name}!`
  },
)

const worker = serve(server, { handlerErrors: 'generic', plugins: [sessions()] })
export default worker
export const { McpSession } = worker
