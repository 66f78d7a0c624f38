import { createServer, serve } from 'edgemcp'

/** An MCP server that stands in for the upstream in tests. */
const server = createServer({ name: 'upstream', version: '1.0.0' })

server.tool('ping', { description: 'Returns pong' }, () => 'pong')

export default serve(server)
