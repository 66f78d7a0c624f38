/** The wire format: the same tools and the same results for all servers. */

export const serverInfo = { name: 'bench', version: '1.0.0' }

/** The issuer, the audience and the scope that a server with authorization requires. */
export const issuer = 'https://issuer.example'
export const resource = 'https://bench.example/mcp'
export const scope = 'tools'

type Property = { type: 'string' | 'number' }

const tool = (name: string, description: string, properties: Record<string, Property>) => ({
  name,
  description,
  inputSchema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties,
    required: Object.keys(properties),
  },
})

/** The tools as in tools/list. */
export const tools = {
  echo: tool('echo', 'Says what it is told', { text: { type: 'string' } }),
  add: tool('add', 'Adds two numbers', { a: { type: 'number' }, b: { type: 'number' } }),
  greet: tool('greet', 'Greets someone by name', { name: { type: 'string' } }),
}

export type Request = { method: string; params: { name?: string; arguments?: Record<string, unknown> } }
export type Result = Record<string, unknown>

export const listed: Result = { tools: Object.values(tools) }

export const said = (text: unknown): Result => ({ content: [{ type: 'text', text }] })

const cacheable = new Set(['tools/list', 'resources/read', 'server/discover'])

/** A result of 2026-07-28, which older versions accept unchanged. */
export const statelessResult = (method: string, result: Result): Result => ({
  resultType: 'complete',
  ...result,
  ...(cacheable.has(method) && { ttlMs: 0, cacheScope: 'private' }),
  _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo },
})
