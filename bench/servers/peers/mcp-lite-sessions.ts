/** mcp-lite with sessions, which it stores in the memory of the isolate. */
import { InMemoryClientRequestAdapter, InMemorySessionAdapter, StreamableHttpTransport } from 'mcp-lite'
import { server } from './mcp-lite-server.ts'

const handle = new StreamableHttpTransport({
  sessionAdapter: new InMemorySessionAdapter({ maxEventBufferSize: 1024 }),
  clientRequestAdapter: new InMemoryClientRequestAdapter({ defaultTimeoutMs: 30_000 }),
}).bind(server)

export default {
  fetch: (request: Request): Promise<Response> => handle(request),
}
