import { env } from 'cloudflare:workers'
import {
  acceptedContent,
  createRequestStateCodec,
  inputRequired,
  inputResponse,
  McpServer,
  ResourceTemplate,
} from '@modelcontextprotocol/server'
import { createMcpHandler, getMcpAuthContext } from 'agents/mcp/server'
import * as z from 'zod'
import { withProps } from '../props.ts'

const Numbers = z.object({ a: z.number(), b: z.number() })
const Item = z.object({ item: z.string() })
const Amount = z.object({ amount: z.int().min(1) })
const Text = z.object({ text: z.string() })
const Topic = z.object({ topic: z.string() })

const numbers = createRequestStateCodec<number>({ key: (env as { STATE_KEY: string }).STATE_KEY })
let tickets = 0

function createServer() {
  const server = new McpServer({ name: 'desk', version: '1.0.0' }, { requestState: numbers })
  server.registerTool('add', { description: 'Adds two numbers', inputSchema: Numbers }, ({ a, b }) => {
    return { content: [{ type: 'text', text: String(a + b) }] }
  })
  server.registerTool('order', { description: 'Orders something', inputSchema: Item }, ({ item }, ctx) => {
    const { inputResponses } = ctx.mcpReq
    if (!inputResponses || !('amount' in inputResponses)) {
      const amount = inputRequired.elicit({ message: `How many of ${item}?`, requestedSchema: Amount })
      return inputRequired({ inputRequests: { amount } })
    }
    const answer = acceptedContent(inputResponses, 'amount', Amount)
    const text = answer ? `Ordered ${answer.amount} of ${item}.` : 'Nothing was ordered.'
    return { content: [{ type: 'text', text }] }
  })
  server.registerTool('summarize', { description: 'Says it shorter', inputSchema: Text }, ({ text }, ctx) => {
    const answer = inputResponse(ctx.mcpReq.inputResponses, 'summary')
    if (answer.kind !== 'sampling') {
      const messages = [{ role: 'user' as const, content: { type: 'text' as const, text } }]
      const summary = inputRequired.createMessage({ messages, maxTokens: 100 })
      return inputRequired({ inputRequests: { summary } })
    }
    const [said] = [answer.result.content].flat()
    return { content: [{ type: 'text', text: said?.type === 'text' ? said.text : '' }] }
  })
  server.registerTool('ticket', { description: 'Draws a number for a folder' }, async (ctx) => {
    const answer = inputResponse(ctx.mcpReq.inputResponses, 'roots')
    if (answer.kind !== 'roots') {
      const requestState = await numbers.mint(++tickets)
      return inputRequired({ inputRequests: { roots: inputRequired.listRoots() }, requestState })
    }
    const number = ctx.mcpReq.requestState<number>()
    return { content: [{ type: 'text', text: `Number ${number} for ${answer.roots[0]?.uri}` }] }
  })
  server.registerTool('whoami', { description: 'Says who asks' }, () => {
    return { content: [{ type: 'text', text: String(getMcpAuthContext()?.props.user) }] }
  })
  server.registerResource('readme', 'desk://readme', { description: 'What this is' }, ({ href }) => {
    return { contents: [{ uri: href, text: 'A desk.' }] }
  })
  const notes = new ResourceTemplate('desk://notes/{id}', { list: undefined })
  server.registerResource('note', notes, { description: 'A note' }, ({ href }, { id }) => {
    return { contents: [{ uri: href, text: `Note ${id}` }] }
  })
  server.registerPrompt('review', { description: 'Asks for a review', argsSchema: Topic }, ({ topic }) => {
    return { messages: [{ role: 'user', content: { type: 'text', text: `Review ${topic}.` } }] }
  })
  return server
}

export default withProps({
  fetch: createMcpHandler(createServer, {
    route: '/desk',
    corsOptions: { origin: 'https://app.example.com' },
    allowedOriginHostnames: ['app.example.com'],
    allowedHostnames: ['desk.example.com', '127.0.0.1'],
  }),
})
