import {
  acceptedContent,
  createMcpHandler,
  inputRequired,
  McpServer,
  ResourceTemplate,
} from '@modelcontextprotocol/server'
import * as z from 'zod'

const Numbers = z.object({ a: z.number(), b: z.number() })
const Item = z.object({ item: z.string() })
const Amount = z.object({ amount: z.int().min(1) })
const Topic = z.object({ topic: z.string() })

const handler = createMcpHandler(() => {
  const server = new McpServer({ name: 'desk', version: '1.0.0' })
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
})

export default {
  fetch: (request: Request): Promise<Response> => handler.fetch(request),
}
