import { randomUUID } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js'
import {
  getOAuthProtectedResourceMetadataUrl,
  mcpAuthMetadataRouter,
} from '@modelcontextprotocol/sdk/server/auth/router.js'
import { completable } from '@modelcontextprotocol/sdk/server/completable.js'
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js'
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js'
import { type EventStore, StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import {
  ErrorCode,
  isInitializeRequest,
  McpError,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import * as z from 'zod'

const written = new Map([['1', 'Note 1']])

function createServer() {
  const capabilities = { logging: {}, resources: { subscribe: true } }
  const server = new McpServer({ name: 'desk', version: '1.0.0' }, { capabilities })
  const text = (text: string) => ({ content: [{ type: 'text' as const, text }] })

  const Numbers = { a: z.number(), b: z.number() }
  server.registerTool('add', { description: 'Adds two numbers', inputSchema: Numbers }, ({ a, b }) => {
    return { content: [{ type: 'text', text: String(a + b) }] }
  })
  server.tool('subtract', 'Subtracts two numbers', Numbers, ({ a, b }) => text(String(a - b)))
  const schemas = { inputSchema: { celsius: z.number() }, outputSchema: { fahrenheit: z.number() } }
  server.registerTool('convert', { description: 'Converts a temperature', ...schemas }, ({ celsius }) => {
    const structuredContent = { fahrenheit: celsius * 1.8 + 32 }
    return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent }
  })
  server.registerTool('fail', { description: 'Cannot do it' }, () => {
    return { content: [{ type: 'text', text: 'The desk is locked.' }], isError: true }
  })

  const Item = { item: z.string() }
  server.registerTool('order', { description: 'Orders something', inputSchema: Item }, async ({ item }, extra) => {
    const requestedSchema = {
      type: 'object' as const,
      properties: { amount: { type: 'integer' as const, minimum: 1 } },
      required: ['amount'],
    }
    const question = { message: `How many of ${item}?`, requestedSchema }
    const answer = await server.server.elicitInput(question, { relatedRequestId: extra.requestId })
    const amount = answer.action === 'accept' ? answer.content?.amount : undefined
    return text(amount === undefined ? 'Nothing was ordered.' : `Ordered ${amount} of ${item}.`)
  })
  const Long = { text: z.string() }
  server.registerTool('summarize', { description: 'Says it shorter', inputSchema: Long }, async (args, extra) => {
    const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: args.text } }]
    const related = { relatedRequestId: extra.requestId }
    const { content } = await server.server.createMessage({ messages, maxTokens: 100 }, related)
    return text(content.type === 'text' ? content.text : '')
  })
  server.registerTool('roots', { description: 'Where the client works' }, async (extra) => {
    const { roots } = await server.server.listRoots({}, { relatedRequestId: extra.requestId })
    return text(roots.map(({ uri }) => uri).join())
  })

  server.registerTool('whoami', { description: 'Says who asks' }, ({ authInfo }) => text(String(authInfo?.extra?.sub)))
  server.registerTool('session', { description: 'Is there one?' }, ({ sessionId }) => text(sessionId ? 'yes' : 'no'))
  server.registerTool('quiet', { description: 'Is nobody there?' }, ({ signal }) => text(signal.aborted ? 'yes' : 'no'))
  server.registerTool('progress', { description: 'Takes two steps' }, async (extra) => {
    const progressToken = extra._meta?.progressToken
    for (const [index, message] of ['half', 'done'].entries()) {
      if (progressToken === undefined) continue
      const params = { progressToken, progress: index + 1, total: 2, message }
      await extra.sendNotification({ method: 'notifications/progress', params })
    }
    return text('Done')
  })
  server.registerTool('log', { description: 'Writes a line' }, async (extra) => {
    await extra.sendNotification({ method: 'notifications/message', params: { level: 'info', data: 'Written' } })
    return text('Done')
  })

  const drawer = server.registerTool('drawer', { description: 'What is in it' }, () => text('Paper'))
  drawer.disable()
  server.registerTool('unlock', { description: 'Unlocks the drawer' }, () => {
    drawer.enable()
    return text('Unlocked')
  })
  server.registerTool('lock', { description: 'Locks the drawer' }, () => {
    drawer.disable()
    return text('Locked')
  })
  const broom = server.registerTool('broom', { description: 'Sweeps' }, () => text('Swept'))
  server.registerTool('sweep', { description: 'Puts the broom away' }, () => {
    broom.remove()
    return text('Away')
  })
  server.registerTool('announce', { description: 'Says that the tools have changed' }, () => {
    server.sendToolListChanged()
    return text('Announced')
  })

  server.registerResource('readme', 'desk://readme', { description: 'What this is' }, ({ href }) => {
    return { contents: [{ uri: href, text: 'A desk.' }] }
  })
  const notes = new ResourceTemplate('desk://notes/{id}', {
    list: () => ({ resources: [{ uri: 'desk://notes/1', name: 'First' }] }),
    complete: { id: (prefix) => ['1', '12'].filter((id) => id.startsWith(prefix)) },
  })
  server.registerResource('note', notes, { description: 'A note' }, ({ href }, { id }) => {
    if (id === '404') throw new McpError(ErrorCode.InvalidParams, 'There is no such note')
    return { contents: [{ uri: href, text: written.get(String(id)) ?? `Note ${id}` }] }
  })
  const subscribed = new Set<string>()
  server.server.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
    subscribed.add(params.uri)
    return {}
  })
  server.server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => {
    subscribed.delete(params.uri)
    return {}
  })
  const Edit = { id: z.string(), text: z.string() }
  server.registerTool('edit', { description: 'Writes a note', inputSchema: Edit }, async ({ id, text: content }) => {
    written.set(id, content)
    const uri = `desk://notes/${id}`
    if (subscribed.has(uri)) await server.server.sendResourceUpdated({ uri })
    return text('Written')
  })

  const topic = completable(z.string(), (prefix) => ['1st draft', '2nd draft'].filter((it) => it.startsWith(prefix)))
  server.registerPrompt('review', { description: 'Asks for a review', argsSchema: { topic } }, ({ topic }) => {
    return { messages: [{ role: 'user', content: { type: 'text', text: `Review ${topic}.` } }] }
  })
  return server
}

/** @param issuer of the tokens. @returns where it listens */
export async function listen(issuer: string): Promise<{ url: URL; close(): void }> {
  const app = createMcpExpressApp()
  const site = app.listen(0, '127.0.0.1')
  await new Promise((listening) => site.once('listening', listening))
  const url = new URL(`http://127.0.0.1:${(site.address() as AddressInfo).port}/mcp`)

  const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`))
  const verifier = {
    async verifyAccessToken(token: string) {
      const { payload } = await jwtVerify(token, keys, { issuer, audience: url.href })
      const { sub, client_id, scope = '', exp } = payload as { [claim: string]: string } & { exp: number }
      return { token, clientId: String(client_id), scopes: scope.split(' '), expiresAt: exp, extra: { sub } }
    },
  }
  const oauthMetadata = {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    response_types_supported: ['code'],
  }
  app.use(mcpAuthMetadataRouter({ oauthMetadata, resourceServerUrl: url }))
  const auth = requireBearerAuth({ verifier, resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(url) })

  const transports = new Map<string, StreamableHTTPServerTransport>()
  app.all('/mcp', auth, async (request, response) => {
    const id = request.headers['mcp-session-id']
    let transport = transports.get(String(id))
    if (!transport && isInitializeRequest(request.body)) {
      const started = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (id) => void transports.set(id, started),
        eventStore: eventStore(),
      })
      await createServer().connect(started)
      transport = started
    }
    if (transport) await transport.handleRequest(request, response, request.body)
    else response.status(404).end()
  })
  const close = () => {
    site.close()
    site.closeAllConnections()
  }
  return { url, close }
}

function eventStore(): EventStore {
  const events: { stream: string; message: Parameters<EventStore['storeEvent']>[1] }[] = []
  return {
    async storeEvent(stream, message) {
      return String(events.push({ stream, message }))
    },
    async replayEventsAfter(last, { send }) {
      const { stream = '' } = events[Number(last) - 1] ?? {}
      for (const [index, event] of events.entries()) {
        if (index >= Number(last) && event.stream === stream) await send(String(index + 1), event.message)
      }
      return stream
    },
  }
}
