import { env, WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { oauthProvider } from 'edgemcp/auth'
import { sessions } from 'edgemcp/sessions'
import { type Store, state } from 'edgemcp/state'
import { subscriptions } from 'edgemcp/subscriptions'
import * as z from 'zod'
import { withProps } from '../props.ts'

type Env = { DESK: string; REMINDER: Workflow<Reminded> }
type Reminded = { id: string }
type Props = { user: string }
type Granted = { clientId?: string }

const server = createServer({ name: 'desk', version: '1.0.0' })

const Numbers = z.object({ a: z.number(), b: z.number() })
server.tool('add', { description: 'Adds two numbers', inputSchema: Numbers }, ({ a, b }) => String(a + b))

const Item = z.object({ item: z.string() })
const Amount = z.object({ amount: z.int().min(1) })
server.tool('order', { description: 'Orders something', inputSchema: Item }, async ({ item }, ctx) => {
  const answer = await ctx.elicit('amount', `How many of ${item}?`, Amount)
  return answer.action === 'accept' ? `Ordered ${answer.content.amount} of ${item}.` : 'Nothing was ordered.'
})

const counter = state('counter', { per: 'session' }, (store: Store<{ count: number }>) => ({
  add() {
    const count = (store.get('count') ?? 0) + 1
    store.put('count', count)
    return count
  },
}))
server.tool('count', { description: 'Counts the calls of this session' }, async (_, ctx) => {
  return String(await ctx.state(counter).add())
})

server.tool('whoami', { description: 'Says who asks' }, (_, ctx) => ctx.principal?.subject ?? 'nobody')

server.tool('where', { description: 'Says where the desk is' }, () => (env as Env).DESK)

const tables = ['CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)']
const notes = state('notes', { per: 'user', ttl: Number.POSITIVE_INFINITY, tables }, (store: Store) => ({
  add(text: string) {
    store.sql('INSERT INTO notes (text) VALUES (?)', text)
    const [{ notes } = { notes: 0 }] = store.sql<{ notes: number }>('SELECT count(*) AS notes FROM notes')
    return notes
  },
  edit(id: string, text: string) {
    store.sql('UPDATE notes SET text = ? WHERE id = ?', text, id)
  },
  read(id: string) {
    const [note] = store.sql<{ text: string }>('SELECT text FROM notes WHERE id = ?', id)
    return note?.text
  },
}))
const Text = z.object({ text: z.string() })
server.tool('remember', { description: 'Adds a note', inputSchema: Text }, async ({ text }, ctx) => {
  return String(await ctx.state(notes).add(text))
})
const Note = z.object({ id: z.string(), text: z.string() })
server.tool('edit', { description: 'Changes a note', inputSchema: Note }, async ({ id, text }, ctx) => {
  await ctx.state(notes).edit(id, text)
  await note.updated({ id })
  return 'Changed'
})

const Later = z.object({ id: z.string() })
server.tool('remind', { description: 'Points to a note, later', inputSchema: Later }, async ({ id }) => {
  await (env as Env).REMINDER.create({ params: { id } })
  return 'In a second'
})
export class Reminder extends WorkflowEntrypoint<Env, Reminded> {
  override async run({ payload }: WorkflowEvent<Reminded>, step: WorkflowStep) {
    await step.sleep('wait', '1 second')
    await step.do('point', () => note.updated(payload))
  }
}

server.resource('desk://readme', { name: 'readme', description: 'What this is' }, () => 'A desk.')
const about = { name: 'note', description: 'A note' }
const note = server.resource('desk://notes/{id}', about, async ({ id }, ctx) => {
  return (await ctx.state(notes).read(id)) ?? `Note ${id}`
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
const worker = serve(server, { auth, plugins: [sessions(), subscriptions()] })
export default withProps(worker)
export const { McpSession, McpSubscriptions } = worker
export { McpState } from 'edgemcp/state'
