import { env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { bearer } from 'edgemcp/auth'
import * as z from 'zod'

const { ISSUER } = env as { ISSUER: string }

const server = createServer({ name: '{{name}}', version: '1.0.0' })

server.tool('whoami', { description: 'Who asks, and what they may do', scopes: [] }, (_, { principal }) =>
  principal ? `${principal.subject}, who may ${principal.scopes.join(' ') || 'do nothing else'}` : 'nobody',
)

server.tool(
  'read_note',
  { description: 'Reads a note', inputSchema: z.object({ id: z.string() }), scopes: ['notes:read'] },
  ({ id }) => `This is the note ${id}.`,
)

const worker = serve(server, {
  auth: bearer({ issuer: ISSUER, scopes: ['notes:read'] }),
  // Pages that may call this from a browser, such as https://app.example.com.
  origins: [],
})
export default worker
export const { McpSession } = worker
