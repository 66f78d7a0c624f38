import {
  acceptedContent,
  completable,
  createMcpHandler,
  fromJsonSchema,
  inputRequired,
  inputResponse,
  McpServer,
  OAuthError,
  OAuthErrorCode,
  ResourceTemplate,
  requireBearerAuth,
} from '@modelcontextprotocol/server'
import * as z from 'zod'

const Numbers = z.object({ a: z.number(), b: z.number() })
const Celsius = fromJsonSchema<{ celsius: number }>({
  type: 'object',
  properties: { celsius: { type: 'number' } },
  required: ['celsius'],
})
const Fahrenheit = fromJsonSchema<{ fahrenheit: number }>({
  type: 'object',
  properties: { fahrenheit: { type: 'number' } },
  required: ['fahrenheit'],
})
const Item = z.object({ item: z.string() })
const Amount = z.object({ amount: z.int().min(1) })
const Topic = z.object({
  topic: completable(z.string(), (prefix) => ['1st', '2nd'].filter((topic) => topic.startsWith(prefix))),
})

const handler = createMcpHandler(() => {
  const server = new McpServer({ name: 'desk', version: '1.0.0' }, { capabilities: { logging: {} } })
  server.registerTool('add', { description: 'Adds two numbers', inputSchema: Numbers }, ({ a, b }) => {
    return { content: [{ type: 'text', text: String(a + b) }] }
  })
  const schemas = { inputSchema: Celsius, outputSchema: Fahrenheit }
  server.registerTool('convert', { description: 'Converts a temperature', ...schemas }, ({ celsius }) => {
    const structuredContent = { fahrenheit: celsius * 1.8 + 32 }
    return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent }
  })
  server.registerTool('break', { description: 'Goes wrong' }, () => {
    throw new Error('The desk is on fire.')
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
  server.registerTool('roots', { description: 'Lists the folders of the client' }, (ctx) => {
    const answer = inputResponse(ctx.mcpReq.inputResponses, 'roots')
    if (answer.kind !== 'roots') return inputRequired({ inputRequests: { roots: inputRequired.listRoots() } })
    return { content: [{ type: 'text', text: answer.roots.map(({ uri }) => uri).join(', ') }] }
  })
  server.registerTool('whoami', { description: 'Says who asks' }, (ctx) => {
    return { content: [{ type: 'text', text: String(ctx.http?.authInfo?.extra?.user) }] }
  })
  server.registerTool('quiet', { description: 'Says whether it was called off' }, (ctx) => {
    return { content: [{ type: 'text', text: ctx.mcpReq.signal.aborted ? 'yes' : 'no' }] }
  })
  server.registerTool('progress', { description: 'Says how far it is' }, async (ctx) => {
    const { progressToken } = ctx.mcpReq._meta ?? {}
    const report = async (progress: number, message: string) => {
      if (progressToken === undefined) return
      const params = { progressToken, progress, total: 2, message }
      await ctx.mcpReq.notify({ method: 'notifications/progress', params })
    }
    await report(1, 'half')
    await report(2, 'done')
    return { content: [{ type: 'text', text: 'Done' }] }
  })
  server.registerTool('log', { description: 'Writes a line' }, async (ctx) => {
    await ctx.mcpReq.log('info', 'Written')
    return { content: [{ type: 'text', text: 'Done' }] }
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
  server.registerPrompt('review', { description: 'Asks for a review', argsSchema: Topic }, ({ topic }) => {
    return { messages: [{ role: 'user', content: { type: 'text', text: `Review ${topic}.` } }] }
  })
  return server
})

const gate = requireBearerAuth({
  verifier: {
    async verifyAccessToken(token) {
      if (token !== 'ada') throw new OAuthError(OAuthErrorCode.InvalidToken, 'The token is not valid for this resource')
      return { token, clientId: 'mover', scopes: [], expiresAt: Date.now() / 1000 + 60, extra: { user: token } }
    },
  },
})

export default {
  async fetch(request: Request): Promise<Response> {
    const authInfo = await gate(request)
    return authInfo instanceof Response ? authInfo : handler.fetch(request, { authInfo })
  },
}
