import { env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { proxy } from 'edgemcp/compose'
import { jsonSchema } from 'edgemcp/json-schema'
import { openApiTools, parseOpenApi } from 'edgemcp/openapi'
import { sessions } from 'edgemcp/sessions'
import api from './api.json'

const server = createServer({ name: '{{name}}', version: '1.0.0', jsonSchema })

/** Both receive this server's own key. The token of the caller is never passed on. */
const headers = () => ({ Authorization: `Bearer ${env.API_KEY}` })

// Each operation of the HTTP API is a tool: list_orders, add_order_note.
server.use(openApiTools(parseOpenApi(api), { baseUrl: env.API_URL, headers }))

// The tools, prompts and resources of another MCP server, with a prefix for the names of tools and prompts.
server.use(proxy(env.UPSTREAM_URL, { prefix: 'upstream_', headers }))

// Without auth, every caller acts with the API_KEY above. Before you deploy, admit known callers only, with bearer of edgemcp/auth:
// serve(server, { auth: bearer({ issuer: 'https://auth.example.com' }) })
const worker = serve(server, { handlerErrors: 'generic', plugins: [sessions()] })
export default worker
export const { McpSession } = worker
