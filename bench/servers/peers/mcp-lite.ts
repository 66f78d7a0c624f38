/** mcp-lite without sessions. */
import { StreamableHttpTransport } from 'mcp-lite'
import { server } from './mcp-lite-server.ts'

const handle = new StreamableHttpTransport().bind(server)

export default {
  fetch: (request: Request): Promise<Response> => handle(request),
}
