/** Handlers that return, or do, what a careful developer would not. */
import { createServer, type GetPromptResult, promptResult, resourceResult, serve, text, toolResult } from 'edgemcp'
import * as z from 'zod'

const server = createServer({ name: 'handlers', version: '1.0.0' })

const json = z.object({ json: z.string() })

server.tool('returns_data', { description: 'Returns JSON of some API as it is', input: json }, ({ json }) =>
  JSON.parse(json),
)

server.tool(
  'returns_structured_data',
  { description: 'Returns JSON of some API as structured content', input: json, output: z.looseObject({}) },
  ({ json }) => JSON.parse(json),
)

server.tool('returns_result', { description: 'Makes a result of data', input: json }, ({ json }) =>
  toolResult(JSON.parse(json)),
)

server.prompt('returns_data', { description: 'Returns JSON of some API as it is', args: json }, ({ json }) =>
  JSON.parse(json),
)

server.prompt('returns_result', { description: 'Makes a result of messages' }, () =>
  promptResult({
    description: 'made',
    messages: [{ role: 'assistant', content: text('hi') }],
    _meta: { 'com.example/a': 1 },
    resultType: 'task',
  } as GetPromptResult),
)

server.resource('data://{json}', { description: 'Returns JSON of some API as it is' }, ({ json }) => JSON.parse(json))

server.resource('result://made', { description: 'Makes a result of contents' }, () =>
  resourceResult({ contents: [{ uri: 'result://other', text: 'made' }], _meta: { 'com.example/a': 1 } }),
)

const worker = serve(server)
export default worker
export const { McpSession, McpUpdates } = worker
