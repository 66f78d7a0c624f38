/** Resources that a session creates for itself, as in docs/guides/subscriptions.md, and those of a user. */
import { createServer, type Principal, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { type Store, state } from 'edgemcp/state'
import { subscriptions } from 'edgemcp/subscriptions'
import * as z from 'zod'

const server = createServer({ name: 'files', version: '1.0.0' })
const File = z.object({ name: z.string(), text: z.string() })

const operations = (store: Store<Record<string, string>>) => ({
  write: (name: string, text: string) => store.put(name, text),
  read: (name: string) => store.get(name),
  names: () => store.entries().map(([name]) => name),
})
const files = state('files', { per: 'session' }, operations)
const notes = state('notes', { per: 'user', ttl: '1h' }, operations)

server.resource(
  'file:///{name}',
  {
    description: 'A file of this session',
    list: async ({ session, state }) => (session ? (await state(files).names()).map((name) => ({ name })) : []),
  },
  ({ name }, ctx) => ctx.state(files).read(name),
)
server.tool(
  'write_file',
  { description: 'Writes a file of this session', inputSchema: File },
  async ({ name, text }, ctx) => {
    await ctx.state(files).write(name, text)
    if (ctx.session) await server.notify.resourcesChanged({ session: ctx.session.id })
    return 'Written.'
  },
)

server.resource(
  'note://{name}',
  {
    description: 'A note of this user',
    list: async ({ principal, state }) => (principal ? (await state(notes).names()).map((name) => ({ name })) : []),
  },
  ({ name }, ctx) => ctx.state(notes).read(name),
)
server.tool(
  'write_note',
  { description: 'Writes a note of this user', inputSchema: File },
  async ({ name, text }, ctx) => {
    await ctx.state(notes).write(name, text)
    if (ctx.principal) await server.notify.resourcesChanged({ user: ctx.principal })
    return 'Written.'
  },
)
server.tool('announce', { description: 'Notifies everyone' }, async () => {
  await server.notify.toolsChanged()
  return 'Done.'
})

const worker = serve(server, {
  auth: {
    allowAnonymous: true,
    async authenticate(request): Promise<Principal | undefined> {
      const [, subject] = /^Bearer (\S+)$/.exec(request.headers.get('Authorization') ?? '') ?? []
      return subject ? { issuer: 'https://issuer.example', subject, scopes: [], claims: {} } : undefined
    },
  },
  plugins: [sessions(), subscriptions()],
})
export default worker
export const { McpSession, McpSubscriptions } = worker
export { McpState } from 'edgemcp/state'
