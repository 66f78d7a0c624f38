import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import * as z from 'zod'

function createServer() {
  const server = new McpServer({ name: 'desk', version: '1.0.0' })
  const Numbers = { a: z.number(), b: z.number() }
  server.registerTool('add', { description: 'Adds two numbers', inputSchema: Numbers }, ({ a, b }) => {
    return { content: [{ type: 'text', text: String(a + b) }] }
  })
  const schemas = { inputSchema: { celsius: z.number() }, outputSchema: { fahrenheit: z.number() } }
  server.registerTool('convert', { description: 'Converts a temperature', ...schemas }, ({ celsius }) => {
    const structuredContent = { fahrenheit: celsius * 1.8 + 32 }
    return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent }
  })
  server.registerTool('fail', { description: 'Cannot do it' }, () => {
    return { content: [{ type: 'text', text: 'The desk is locked.' }], isError: true }
  })
  server.registerResource('readme', 'desk://readme', { description: 'What this is' }, ({ href }) => {
    return { contents: [{ uri: href, text: 'A desk.' }] }
  })
  const notes = new ResourceTemplate('desk://notes/{id}', {
    list: () => ({ resources: [{ uri: 'desk://notes/1', name: 'First' }] }),
    complete: { id: (prefix) => ['1', '12'].filter((id) => id.startsWith(prefix)) },
  })
  server.registerResource('note', notes, { description: 'A note' }, ({ href }, { id }) => {
    return { contents: [{ uri: href, text: `Note ${id}` }] }
  })
  const Topic = { topic: z.string() }
  server.registerPrompt('review', { description: 'Asks for a review', argsSchema: Topic }, ({ topic }) => {
    return { messages: [{ role: 'user', content: { type: 'text', text: `Review ${topic}.` } }] }
  })
  return server
}

export default {
  async fetch(request: Request): Promise<Response> {
    const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: undefined })
    await createServer().connect(transport)
    return transport.handleRequest(request)
  },
}
