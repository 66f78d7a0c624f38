/**
 * @modelcontextprotocol/server with sessions: its web-standard transport in a Durable Object for each session. It has
 * no session store, so a session is lost when its object is evicted.
 */
import { DurableObject, exports } from 'cloudflare:workers'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { createServer } from './sdk-server.ts'

export class SdkSession extends DurableObject {
  #transport: Promise<WebStandardStreamableHTTPServerTransport> | undefined

  override async fetch(request: Request): Promise<Response> {
    this.#transport ??= this.#connect()
    const transport = await this.#transport
    return transport.handleRequest(request)
  }

  async #connect(): Promise<WebStandardStreamableHTTPServerTransport> {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => this.ctx.id.name ?? '',
    })
    await createServer().connect(transport)
    return transport
  }
}

const exported = exports as unknown as { SdkSession: DurableObjectNamespace<SdkSession> }

export default {
  fetch(request: Request): Promise<Response> {
    const session = request.headers.get('Mcp-Session-Id') ?? crypto.randomUUID()
    return exported.SdkSession.getByName(session).fetch(request)
  },
}
