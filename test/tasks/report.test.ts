/** The example that writes reports, as each kind of client sees it. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { type CallToolResult, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { type Json, TaskClient } from './client.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('examples/report')
})
afterAll(() => server[Symbol.asyncDispose]())

const topic = 'Tea'
const two = { action: 'accept' as const, content: { chapters: 2 } }
const report = [
  '# Tea',
  '## Where it comes from\n\nWhat there is to know about Tea.',
  '## How it is made\n\nWhat there is to know about Tea.',
].join('\n\n')
const written = [
  { type: 'text', text: 'The report about Tea has 2 chapters.' },
  { type: 'resource_link', uri: expect.stringMatching(/^report:/), name: 'Tea.md', mimeType: 'text/markdown' },
]
const uriIn = ({ content }: Json) => (content as Json[])[1]?.uri as string

test('a client with the tasks extension gets a handle, progress, an input request and the file', async () => {
  const client = new TaskClient(server.url)
  const taskId = await client.begin('write_report', { topic })
  await using stream = await client.listen({ notifications: { taskIds: [taskId] } })
  const heard: unknown[] = []
  for (let status: unknown; status !== 'input_required'; ) {
    const { params } = await stream.next()
    status = params.status
    heard.push(params.statusMessage)
  }
  expect(heard).toContainEqual(expect.stringMatching(/^Collecting: /))
  const { inputRequests } = await client.get(taskId)
  expect(inputRequests).toMatchObject({
    length: { params: { message: expect.stringContaining('How many may the report have?') } },
  })
  await client.result('tasks/update', { taskId, inputResponses: { length: two } })
  const { result } = await client.until(taskId, 'completed')
  expect((result as Json).content).toEqual(written)
  const uri = uriIn(result as Json)
  const read = await client.result('resources/read', { uri }, { headers: { 'Mcp-Name': uri } })
  expect(read.contents).toMatchObject([{ uri, mimeType: 'text/markdown', text: report }])
})

test('a client of the official SDK with experimental tasks gets its status, an input request and the result', async () => {
  const sdk = new Client({ name: 'sdk', version: '1' }, { capabilities: { elicitation: {} } })
  sdk.setRequestHandler(ElicitRequestSchema, () => two)
  await sdk.connect(new StreamableHTTPClientTransport(server.url))
  await sdk.listTools()
  const types: string[] = []
  let result: CallToolResult | undefined
  for await (const message of sdk.experimental.tasks.callToolStream({ name: 'write_report', arguments: { topic } })) {
    types.push(message.type)
    if (message.type === 'result') result = message.result as CallToolResult
  }
  expect([types.at(0), types.at(-1)]).toEqual(['taskCreated', 'result'])
  expect(result?.content).toEqual(written)
  expect((await sdk.readResource({ uri: uriIn(result as Json) })).contents).toMatchObject([{ text: report }])
  await sdk.close()
})

test.each(['2026-07-28', '2025-11-25', '2025-06-18'])(
  'a client of %s without tasks waits for the result, and gets progress',
  async (revision) => {
    await using client = await connect(server.url, { revision, answers: { elicit: () => two } })
    const heard: unknown[] = []
    const onProgress = (params: Json) => void heard.push(params.progress)
    const result = await client.callTool('write_report', { topic }, { onProgress })
    expect(result.content).toEqual(written)
    expect(heard).toEqual([0, 1, 2, 3, 4, 5])
  },
)
