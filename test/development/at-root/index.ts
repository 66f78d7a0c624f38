/** A server whose endpoint is the root of its host. */
import { createServer, serve } from 'edgemcp'

const server = createServer({ name: 'at-root', version: '1.0.0' })
server.tool('hello', { description: 'Greets' }, () => 'Hello')

export default serve(server, { path: '/' })
