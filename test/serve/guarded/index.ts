/** A server whose plugin guards a tool, as far as the environment has its policy. */
import { env } from 'cloudflare:workers'
import { createServer, type Interceptor, McpError, type Plugin, serve } from 'edgemcp'

const { POLICY } = env as { POLICY?: string }

const server = createServer({ name: 'guarded', version: '1.0.0' })

server.tool('secret', { description: 'Tells a secret' }, () => 'It is 42')

const guard: Interceptor = async (call, next) => {
  if (call.method === 'tools/call') throw new McpError('forbidden', `The policy "${POLICY}" forbids it`)
  return next()
}

// JavaScript has no types that would refuse the text.
const plugin: Plugin = { name: 'guard', interceptor: () => (POLICY && guard) as Interceptor }

export default serve(server, { plugins: [plugin] })
