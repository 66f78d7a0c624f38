import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js'
import { SubscribeRequestSchema, UnsubscribeRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { McpAgent } from 'agents/mcp'
import * as z from 'zod'
import { withProps } from '../props.ts'

type Env = Cloudflare.Env & { DESK: string }
/** `edited`: the note that the last change was about. */
type State = { count: number; edited?: string }
type Props = { user: string }

export class Desk extends McpAgent<Env, State, Props> {
  server = new McpServer({ name: 'desk', version: '1.0.0' }, { capabilities: { resources: { subscribe: true } } })
  override initialState: State = { count: 0 }

  async init() {
    const { server } = this
    const Numbers = { a: z.number(), b: z.number() }
    server.registerTool('add', { description: 'Adds two numbers', inputSchema: Numbers }, ({ a, b }) => {
      return { content: [{ type: 'text', text: String(a + b) }] }
    })

    const Item = { item: z.string() }
    server.registerTool('order', { description: 'Orders something', inputSchema: Item }, async ({ item }, extra) => {
      const requestedSchema = {
        type: 'object' as const,
        properties: { amount: { type: 'integer' as const, minimum: 1 } },
        required: ['amount'],
      }
      const question = { message: `How many of ${item}?`, requestedSchema }
      const answer = await this.elicitInput(question, { relatedRequestId: extra.requestId })
      const amount = answer.action === 'accept' ? answer.content?.amount : undefined
      const text = amount === undefined ? 'Nothing was ordered.' : `Ordered ${amount} of ${item}.`
      return { content: [{ type: 'text', text }] }
    })

    server.registerTool('count', { description: 'Counts the calls of this session' }, () => {
      this.setState({ count: this.state.count + 1 })
      return { content: [{ type: 'text', text: String(this.state.count) }] }
    })

    server.registerTool('whoami', { description: 'Says who asks' }, () => {
      return { content: [{ type: 'text', text: this.props?.user ?? 'nobody' }] }
    })

    server.registerTool('where', { description: 'Says where the desk is' }, () => {
      return { content: [{ type: 'text', text: this.env.DESK }] }
    })

    this.sql`CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, text TEXT)`
    const Text = { text: z.string() }
    server.registerTool('remember', { description: 'Adds a note', inputSchema: Text }, ({ text }) => {
      this.sql`INSERT INTO notes (text) VALUES (${text})`
      const [{ notes } = { notes: 0 }] = this.sql<{ notes: number }>`SELECT count(*) AS notes FROM notes`
      return { content: [{ type: 'text', text: String(notes) }] }
    })
    const Note = { id: z.string(), text: z.string() }
    server.registerTool('edit', { description: 'Changes a note', inputSchema: Note }, ({ id, text }) => {
      this.sql`UPDATE notes SET text = ${text} WHERE id = ${id}`
      this.setState({ ...this.state, edited: id })
      return { content: [{ type: 'text', text: 'Changed' }] }
    })
    const Later = { id: z.string() }
    server.registerTool('remind', { description: 'Points to a note, later', inputSchema: Later }, async ({ id }) => {
      await this.schedule(1, 'point', id)
      return { content: [{ type: 'text', text: 'In a second' }] }
    })
    server.server.setRequestHandler(SubscribeRequestSchema, () => ({}))
    server.server.setRequestHandler(UnsubscribeRequestSchema, () => ({}))

    server.registerResource('readme', 'desk://readme', { description: 'What this is' }, ({ href }) => {
      return { contents: [{ uri: href, text: 'A desk.' }] }
    })
    const notes = new ResourceTemplate('desk://notes/{id}', { list: undefined })
    server.registerResource('note', notes, { description: 'A note' }, ({ href }, { id }) => {
      const [note] = this.sql<{ text: string }>`SELECT text FROM notes WHERE id = ${String(id)}`
      return { contents: [{ uri: href, text: note?.text ?? `Note ${id}` }] }
    })

    const Topic = { topic: z.string() }
    server.registerPrompt('review', { description: 'Asks for a review', argsSchema: Topic }, ({ topic }) => {
      return { messages: [{ role: 'user', content: { type: 'text', text: `Review ${topic}.` } }] }
    })
  }

  override async onStateChanged({ edited }: State) {
    if (edited) await this.point(edited)
  }

  async point(id: string) {
    await this.server.server.sendResourceUpdated({ uri: `desk://notes/${id}` })
  }
}

const streamable = Desk.serve('/mcp', { binding: 'Desk' })
const sse = Desk.serveSSE('/sse', { binding: 'Desk' })
export default withProps({
  fetch(request: Request, env: Env, ctx: ExecutionContext) {
    const { pathname } = new URL(request.url)
    return (pathname.startsWith('/sse') ? sse : streamable).fetch(request, env, ctx)
  },
})
