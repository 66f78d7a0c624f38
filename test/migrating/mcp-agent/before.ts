import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js'
import { McpAgent } from 'agents/mcp'
import * as z from 'zod'
import { withProps } from '../props.ts'

type State = { count: number }
type Props = { user: string }

export class Desk extends McpAgent<Cloudflare.Env, State, Props> {
  server = new McpServer({ name: 'desk', version: '1.0.0' })
  override initialState = { count: 0 }

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

    server.registerResource('readme', 'desk://readme', { description: 'What this is' }, ({ href }) => {
      return { contents: [{ uri: href, text: 'A desk.' }] }
    })
    const notes = new ResourceTemplate('desk://notes/{id}', { list: undefined })
    server.registerResource('note', notes, { description: 'A note' }, ({ href }, { id }) => {
      return { contents: [{ uri: href, text: `Note ${id}` }] }
    })

    const Topic = { topic: z.string() }
    server.registerPrompt('review', { description: 'Asks for a review', argsSchema: Topic }, ({ topic }) => {
      return { messages: [{ role: 'user', content: { type: 'text', text: `Review ${topic}.` } }] }
    })
  }
}

export default withProps(Desk.serve('/mcp', { binding: 'Desk' }))
