import { startAuthorizationServer } from './authorization-server.ts'

/** The authorization server, on the port after that of the MCP server. `scripts/start.ts` calls it. */
export async function start(port: number) {
  const resource = () => `http://127.0.0.1:${port}/mcp`
  const server = await startAuthorizationServer({ port: port === 0 ? 0 : port + 1, resource })
  return {
    announcement: `authorization server on ${server.issuer}`,
    variables: { ISSUER: server.issuer },
    stop: async () => server[Symbol.asyncDispose](),
  }
}
