/** @modelcontextprotocol/server, used on Workers as in its documentation. */
import { createMcpHandler } from '@modelcontextprotocol/server'
import { createServer } from './sdk-server.ts'

const handler = createMcpHandler(() => createServer())

export default {
  fetch: (request: Request): Promise<Response> => handler.fetch(request),
}
