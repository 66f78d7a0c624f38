/** `createMcpHandler` of agents, which serves servers of the official SDK. */
import { createMcpHandler } from 'agents/mcp/server'
import { createServer } from './sdk-server.ts'

const handler = createMcpHandler(() => createServer())

export default {
  fetch: (request: Request, env: unknown, ctx: ExecutionContext) => handler(request, env, ctx),
}
