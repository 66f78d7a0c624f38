/** An upstream with sessions whose every answer a test decides. */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export type StubRequest = {
  readonly http: string
  readonly headers: IncomingHttpHeaders
  readonly session: string | undefined
  readonly id: unknown
  readonly method: string | undefined
  readonly params: Record<string, unknown>
  readonly body: unknown
}

export type Stub = {
  readonly url: string
  readonly requests: StubRequest[]
  readonly sessions: Set<string>
  /** What it answers to an unknown session. */
  unknown: { status: number; body: string }
  /** What it lists. */
  tools: unknown[]
  /** Events on the stream of the answer to `initialize`, before the response. Default: it is JSON. */
  beforeInitialized: string
  /** Answers `tools/call`, and whatever the stub does not know, such as GET. Default: the text `who`, an argument, with the request's id. */
  call: (request: StubRequest, response: ServerResponse) => unknown
  close(): void
}

const refusal = JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32000, message: 'No valid session' } })
const schema = { type: 'object', properties: { who: { type: 'string' } } }

export const sendJson = (response: ServerResponse, body: unknown, status = 200): void =>
  void response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
export const textResult = (said: string) => ({ content: [{ type: 'text', text: said }] })

export async function startStub(): Promise<Stub> {
  const listener = createServer(async (incoming, response) => {
    const body = await text(incoming)
    const message = body ? JSON.parse(body) : {}
    const { id, method, params = {} } = message
    const session = incoming.headers['mcp-session-id'] as string | undefined
    const request = {
      http: incoming.method ?? '',
      headers: incoming.headers,
      session,
      id,
      method,
      params,
      body: message,
    }
    stub.requests.push(request)
    const result = (value: unknown) => sendJson(response, { jsonrpc: '2.0', id, result: value })
    if (method === 'initialize') {
      const made = crypto.randomUUID()
      stub.sessions.add(made)
      response.setHeader('Mcp-Session-Id', made)
      const capabilities = { tools: {}, resources: {} }
      const welcome = { protocolVersion: '2025-06-18', capabilities, serverInfo: { name: 'stub', version: '1' } }
      if (!stub.beforeInitialized) return result(welcome)
      const event = `data: ${JSON.stringify({ jsonrpc: '2.0', id, result: welcome })}\n\n`
      response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      return void response.end(stub.beforeInitialized + event)
    }
    if (!session) return void response.writeHead(400, { 'Content-Type': 'application/json' }).end(refusal)
    if (!stub.sessions.has(session)) {
      const { status, body: told } = stub.unknown
      return void response.writeHead(status, { 'Content-Type': 'application/json' }).end(told)
    }
    if (incoming.method === 'DELETE') {
      stub.sessions.delete(session)
      return void response.writeHead(200).end()
    }
    if (method?.startsWith('notifications/')) return void response.writeHead(202).end()
    if (method === 'tools/list') {
      return result({ tools: stub.tools })
    }
    if (method === 'resources/list') return result({ resources: [{ uri: 'about:stub', name: 'about' }] })
    if (method === 'resources/templates/list') return result({ resourceTemplates: [] })
    if (method === 'resources/read') return result({ contents: [{ uri: params.uri, text: 'About' }] })
    await stub.call(request, response)
  }).listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const stub: Stub = {
    url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}/mcp`,
    requests: [],
    sessions: new Set(),
    tools: ['secret_of', 'other'].map((name) => ({ name, description: 'd', inputSchema: schema })),
    beforeInitialized: '',
    unknown: { status: 404, body: refusal },
    call: answerAsAsked,
    close() {
      listener.closeAllConnections()
      listener.close()
    },
  }
  return stub
}

export function answerAsAsked({ id, method, params }: StubRequest, response: ServerResponse): void {
  // A response of the client.
  if (method === undefined) return void response.writeHead(202).end()
  const { who } = params.arguments as { who: string }
  sendJson(response, { jsonrpc: '2.0', id, result: textResult(`the secret of ${who}`) })
}
