/**
 * The least there can be with a Durable Object: the Worker parses a request and hands it to an object, which answers it.
 * Stateless requests all meet the same object; a session has its own.
 */
import { DurableObject, exports } from 'cloudflare:workers'
import { listed, type Request as Message, said, serverInfo, statelessResult } from './wire.ts'

type Numbered = Message & { id: number }

export class FloorObject extends DurableObject {
  answer({ id, method, params }: Numbered, isStateless: boolean): string {
    const result = method === 'tools/list' ? listed : said(params.arguments?.text)
    return JSON.stringify({ jsonrpc: '2.0', id, result: isStateless ? statelessResult(method, result) : result })
  }
}

const exported = exports as unknown as { FloorObject: DurableObjectNamespace<FloorObject> }

export default {
  async fetch(request: Request): Promise<Response> {
    const message = await request.json<Numbered>()
    if (message.method === 'initialize') return welcome(message)
    if (message.id === undefined) return new Response(null, { status: 202 })
    const session = request.headers.get('Mcp-Session-Id')
    const text = await exported.FloorObject.getByName(session ?? 'all').answer(message, session === null)
    return new Response(text, { headers: { 'Content-Type': 'application/json' } })
  },
}

function welcome({ id }: Numbered): Response {
  const result = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo }
  return Response.json({ jsonrpc: '2.0', id, result }, { headers: { 'Mcp-Session-Id': crypto.randomUUID() } })
}
