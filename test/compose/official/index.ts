/** A server of the official SDK, of the newest revision. */
import {
  acceptedContent,
  createMcpHandler,
  inputRequired,
  McpServer,
  ResourceTemplate,
} from '@modelcontextprotocol/server'
import * as z from 'zod'

const Amount = z.object({ amount: z.int().min(1) })

const handler = createMcpHandler(() => {
  const server = new McpServer({ name: 'official', version: '1.0.0' })
  server.registerTool(
    'order',
    { description: 'Orders', inputSchema: z.object({ item: z.string() }) },
    async ({ item }, ctx) => {
      const { inputResponses } = ctx.mcpReq
      if (!inputResponses || !('amount' in inputResponses)) {
        const amount = inputRequired.elicit({ message: `How many of ${item}?`, requestedSchema: Amount })
        return inputRequired({ inputRequests: { amount } })
      }
      const answer = acceptedContent(inputResponses, 'amount', Amount)
      return { content: [{ type: 'text', text: `Ordered ${answer?.amount} of ${item}` }] }
    },
  )
  server.registerResource('readme', 'desk://readme', { description: 'What this is' }, ({ href }) => {
    return { contents: [{ uri: href, text: 'A desk' }] }
  })
  const notes = new ResourceTemplate('desk://notes/{id}', { list: undefined })
  server.registerResource('note', notes, { description: 'A note' }, ({ href }, { id }) => {
    return { contents: [{ uri: href, text: `Note ${id}` }] }
  })
  server.registerPrompt(
    'review',
    { description: 'Asks for a review', argsSchema: z.object({ topic: z.string() }) },
    ({ topic }) => {
      return { messages: [{ role: 'user', content: { type: 'text', text: `Review ${topic}` } }] }
    },
  )
  return server
})

export default { fetch: (request: Request): Promise<Response> => handler.fetch(request) }
