import { createServer, failure, serve } from 'edgemcp'
import * as z from 'zod'

const server = createServer({ name: 'desk', version: '1.0.0' })

const Numbers = z.object({ a: z.number(), b: z.number() })
server.tool('add', { description: 'Adds two numbers', input: Numbers }, ({ a, b }) => String(a + b))

const schemas = { input: z.object({ celsius: z.number() }), output: z.object({ fahrenheit: z.number() }) }
server.tool('convert', { description: 'Converts a temperature', ...schemas }, ({ celsius }) => {
  return { fahrenheit: celsius * 1.8 + 32 }
})

server.tool('fail', { description: 'Cannot do it' }, () => failure('The desk is locked.'))

server.resource('desk://readme', { name: 'readme', description: 'What this is' }, () => 'A desk.')
server.resource(
  'desk://notes/{id}',
  {
    name: 'note',
    description: 'A note',
    list: () => [{ id: '1', name: 'First' }],
    complete: { id: (prefix) => ['1', '12'].filter((id) => id.startsWith(prefix)) },
  },
  ({ id }) => `Note ${id}`,
)

const Topic = z.object({ topic: z.string() })
server.prompt('review', { description: 'Asks for a review', args: Topic }, ({ topic }) => `Review ${topic}.`)

const worker = serve(server)
export default worker
export const { McpSession, McpUpdates } = worker
