/** A server whose tools are the operations of an HTTP API elsewhere. */
import { env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { jsonSchema } from 'edgemcp/json-schema'
import { openApiTools, parseOpenApi } from 'edgemcp/openapi'
import { sessions } from 'edgemcp/sessions'
import pets from '../pets.json'

const { API } = env as unknown as { API: string }

const server = createServer({ name: 'pets', version: '1.0.0', jsonSchema })
server.use(openApiTools(parseOpenApi(pets), { baseUrl: API, prefix: 'pets_', headers: () => ({ 'X-Key': 'secret' }) }))
const form = {
  type: 'object',
  additionalProperties: {
    anyOf: [{ type: 'string' }, { type: 'string', format: 'binary' }, { type: 'array', items: { type: 'null' } }],
  },
}
const requestBody = { content: { 'multipart/form-data': { schema: form } } }
const uploads = { openapi: '3.1.0', paths: { '/uploads': { post: { operationId: 'upload', requestBody } } } }
server.use(openApiTools(parseOpenApi(uploads), { baseUrl: API }))
server.use(openApiTools(parseOpenApi(pets), { baseUrl: 'http://127.0.0.1:9', prefix: 'nobody_' }))

const worker = serve(server, { plugins: [sessions()] })
export default worker
export const { McpSession } = worker
