/** @modelcontextprotocol/server, as its documentation tells to use it on Workers. */
import { createMcpHandler } from '@modelcontextprotocol/server'
import { createServer } from './sdk-server.ts'

const handler = createMcpHandler(() => createServer())

export default {
  fetch: (request: Request): Promise<Response> => handler.fetch(request),
}
