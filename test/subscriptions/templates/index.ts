/** Templates whose resources only some callers may read. */
import { createServer, type Principal, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'

const server = createServer({ name: 'templates', version: '1.0.0' })
const note = server.resource(
  'note://x/{id}',
  { description: 'A note', authorize: (_, { id }) => !id.startsWith('private-') },
  ({ id }) => id,
)
const log = server.resource('log://{id}{?from,to}', { description: 'A log', scopes: ['logs'] }, ({ id }) => id)
const other = server.resource('log://{+any}', { description: 'Anything else' }, ({ any }) => any)
const end = server.resource('end://1', { description: 'Changes last' }, () => 'end')

server.tool('change', { description: 'Changes a resource of each declaration' }, async () => {
  await note.updated({ id: 'private-1' })
  await log.updated({ id: '1', from: '1', to: '2' })
  await other.updated({ any: 'any/thing' })
  await end.updated()
})

const worker = serve(server, {
  auth: {
    async authenticate(request): Promise<Principal> {
      const [, subject = ''] = /^Bearer (\S+)$/.exec(request.headers.get('Authorization') ?? '') ?? []
      return { issuer: 'https://names.example', subject, scopes: [], claims: {} }
    },
  },
  plugins: [sessions(), subscriptions()],
})
export default worker
export const { McpSession, McpSubscriptions } = worker
