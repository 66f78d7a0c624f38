import { createServer, McpError, serve } from 'edgemcp'
import { oauthProvider } from 'edgemcp/auth'
import { mount } from 'edgemcp/compose'
import { sessions } from 'edgemcp/sessions'
import * as z from 'zod'
import { withProps } from '../props.ts'

type Props = { user: string }
type Granted = { clientId?: string }

const server = createServer({ name: 'desk', version: '1.0.0' })

server.intercept(async (call, next) => {
  if (call.params.name === 'forbidden') throw new McpError('invalid_params', 'Not at night.')
  return next()
})

const Numbers = z.object({ a: z.number(), b: z.number() })
server.tool('add', { description: 'Adds two numbers', inputSchema: Numbers }, ({ a, b }) => String(a + b))

const Item = z.object({ item: z.string() })
const Amount = z.object({ amount: z.int().min(1) })
server.tool('order', { description: 'Orders something', inputSchema: Item }, async ({ item }, ctx) => {
  const answer = await ctx.elicit('amount', `How many of ${item}?`, Amount)
  return answer.action === 'accept' ? `Ordered ${answer.content.amount} of ${item}.` : 'Nothing was ordered.'
})

server.tool('asks', { description: 'Says whether it can ask' }, (_, ctx) =>
  ctx.supports('elicitation') ? 'yes' : 'no',
)

server.tool('progress', { description: 'Says how far it is' }, (_, ctx) => {
  ctx.progress(1, 2, 'half')
  ctx.progress(2, 2, 'done')
  return 'Done'
})

server.tool('session', { description: 'Says whether there is a session' }, (_, ctx) => (ctx.session ? 'yes' : 'no'))

server.tool('whoami', { description: 'Says who asks' }, (_, ctx) => String(ctx.principal?.subject))

server.tool('break', { description: 'Breaks' }, () => {
  throw new McpError('invalid_params', 'Nothing is left to break.')
})

server.tool('forbidden', { description: 'Works by day' }, () => 'Done')

const git = createServer({ name: 'git', version: '1.0.0' })
const Message = z.object({ message: z.string() })
git.tool('git_commit', { description: 'Commits', inputSchema: Message }, ({ message }) => `Committed: ${message}`)
server.use(mount(git))

server.resource('desk://readme', { name: 'readme', description: 'What this is' }, () => 'A desk.')
server.resource('desk://notes/{id}', { name: 'note', description: 'A note' }, ({ id }) => {
  return id === '404' ? undefined : `Note ${id}`
})

const Topic = z.object({ topic: z.string() })
server.prompt('review', { description: 'Asks for a review', argsSchema: Topic }, ({ topic }) => `Review ${topic}.`)

const auth = oauthProvider(({ user }: Props, { clientId }: Granted) => ({
  issuer: 'https://mcp.example.com',
  subject: user,
  client: clientId,
  scopes: [],
  claims: {},
}))
const worker = serve(server, { auth, plugins: [sessions()] })
export default withProps(worker)
export const { McpSession } = worker
