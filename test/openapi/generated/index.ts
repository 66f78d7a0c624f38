/** A server whose tools were written by `npx edgemcp openapi ../pets.json --out pets.ts`. */
import { env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { jsonSchema } from 'edgemcp/json-schema'
import { openApiTools } from 'edgemcp/openapi'
import { sessions } from 'edgemcp/sessions'
import { pets } from './pets.ts'

const { API } = env as unknown as { API: string }

const server = createServer({ name: 'pets', version: '1.0.0', jsonSchema })
server.use(openApiTools(pets, { baseUrl: API, headers: () => ({ 'X-Key': 'secret' }) }))

const worker = serve(server, { plugins: [sessions()] })
export default worker
export const { McpSession } = worker
