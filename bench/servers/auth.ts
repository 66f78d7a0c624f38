/** edgemcp as in edgemcp.ts, for callers with a token that has the scope of a tool. */
import { env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { bearer } from 'edgemcp/auth'
import { sessions } from 'edgemcp/sessions'
import * as z from 'zod'
import { issuer, resource, scope, serverInfo, tools } from './wire.ts'

const { KEYS } = env as unknown as { KEYS: string }
const scopes = [scope]

const server = createServer(serverInfo)

const { echo, add, greet } = tools
server.tool(
  echo.name,
  { description: echo.description, inputSchema: z.object({ text: z.string() }), scopes },
  ({ text }) => {
    return text
  },
)
server.tool(
  add.name,
  { description: add.description, inputSchema: z.object({ a: z.number(), b: z.number() }), scopes },
  ({ a, b }) => String(a + b),
)
server.tool(
  greet.name,
  { description: greet.description, inputSchema: z.object({ name: z.string() }), scopes },
  ({ name }) => {
    return `Hello, ${name}!`
  },
)

/** The issuer is local, and is requested once: its time is not measured. */
const fetch = async (url: string) =>
  url.endsWith('/keys')
    ? new Response(KEYS, { headers: { 'Content-Type': 'application/json' } })
    : Response.json({ issuer, jwks_uri: `${issuer}/keys` })

const worker = serve(server, { auth: bearer({ issuer, resource, fetch }), plugins: [sessions()] })
export default worker
export const { McpSession } = worker
