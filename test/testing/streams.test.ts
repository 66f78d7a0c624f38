import { afterAll, beforeAll, expect, test } from 'vitest'
import { Streams } from '../../worker/client/streams.ts'
import { connect } from '../../worker/testing/index.ts'
import { startEverything, startServer, type TestServer } from '../support/server.ts'

let confirm: TestServer
let everything: TestServer
/** Servers with the paths /eu/mcp and /us/mcp. */
let shops: TestServer
beforeAll(async () => {
  shops = await startServer('test/auth/identity')
  confirm = await startServer('examples/confirm')
  everything = await startEverything()
})
afterAll(async () => {
  await confirm[Symbol.asyncDispose]()
  await everything[Symbol.asyncDispose]()
  await shops[Symbol.asyncDispose]()
})

test.each(['eu', 'us'])('a client of HTTP+SSE connects to the endpoint beside the URL: /%s/mcp', async (name) => {
  const requested: string[] = []
  const record = (request: Request) => {
    requested.push(new URL(request.url).pathname)
    return fetch(request)
  }
  const url = new URL(`/${name}/mcp`, shops.url)
  await using client = await connect(record, { url, revision: '2024-11-05', sse: true })
  expect(client.initializeResult).toMatchObject({ serverInfo: { name } })
  expect(await client.callTool('basket')).toMatchObject({ content: [{ type: 'text' }] })
  expect(new Set(requested)).toEqual(new Set([`/${name}/sse`, `/${name}/messages`]))
})

test.each([
  ['2026-07-28', false],
  ['2025-11-25', false],
  ['2024-11-05', true],
])('every request of a client of %s has the headers of its options', async (revision, sse) => {
  const requests: Request[] = []
  const record = (request: Request) => {
    requests.push(request)
    return fetch(request)
  }
  const headers = { 'X-Account': 'acme', accept: 'text/plain', authorization: 'Bearer other' }
  const client = await connect(record, { url: everything.url, revision, sse, token: 'own', headers })
  const subscription = await client.subscribe({ toolsListChanged: true })
  headers['X-Account'] = 'globex'
  await client.callTool('echo', { text: 'hi' })
  await subscription.close()
  await client.close()
  const accounts = requests.map((request) => request.headers.get('X-Account'))
  expect(new Set(accounts)).toEqual(new Set(['acme', 'globex']))
  expect(accounts.at(-1)).toBe('globex')
  expect(new Set(requests.map((request) => request.headers.get('Authorization')))).toEqual(new Set(['Bearer own']))
  const [first] = requests
  expect(first?.headers.get('Accept')).toMatch(/^(application\/json, )?text\/event-stream$/)
})

test('an event of another type on a stream is no message', async () => {
  const cutFirst = async (request: Request) => {
    const response = await fetch(request)
    const isStream = request.method === 'POST' && response.headers.get('Content-Type')?.startsWith('text/event-stream')
    return isStream ? new Response(`id: 1.0\ndata: {"part\nevent: -\n\n${await response.text()}`, response) : response
  }
  await using client = await connect(cutFirst, { url: everything.url, revision: '2025-11-25' })
  const progress: unknown[] = []
  const params = { name: 'progress', arguments: { steps: 2 } }
  const { content } = await client.request('tools/call', params, { onProgress: (one) => progress.push(one) })
  expect(content).toMatchObject([{ type: 'text' }])
  expect(progress.length).toBeGreaterThan(0)
})

const greeting = 'data: {"jsonrpc":"2.0","method":"notifications/hello"}'

test.each([
  ['an id without data', `id: 1\n${greeting}\n\nid: 2\n\n`, '2'],
  ['an id without data alone', 'id: 7\n\n', '7'],
  ['an event of another type', `id: 1\n${greeting}\n\nid: 2\nevent: ping\ndata: {}\n\n`, '2'],
  ['an event that was cut', `id: 1\n${greeting}\n\nid: 2\n${greeting}\n`, '1'],
])('a client resumes a stream after the last id of an event: %s', async (_, text, last) => {
  const resumed: (string | undefined)[] = []
  const streams = new Streams(async (after) => {
    resumed.push(after)
    return new Response(null, { status: 405 })
  })
  const first = new Response(text, { headers: { 'Content-Type': 'text/event-stream' } })
  const { messages } = streams.read(first, new AbortController())
  const read = async () => {
    for await (const message of messages) void message
  }
  await expect(read()).rejects.toThrow('The stream could not be resumed')
  expect(resumed).toEqual([last])
})

const consent = { action: 'accept', content: { sure: true } }

test.each(['2025-06-18', '2025-11-25'])(
  'a client of %s resumes a stream whose connection was lost',
  async (revision) => {
    let drops = 0
    const dropping = (answer: object) => async () => {
      await client.dropStream()
      drops += 1
      return answer
    }
    const elicit = [dropping(consent), dropping({ action: 'decline' })]
    await using client = await connect(confirm.url, { revision, answers: { elicit } })
    const { content } = await client.callTool('transfer', { to: 'Ada', amount: 5 })
    expect(content[0]).toMatchObject({ text: expect.stringMatching(/^Transferred 5 to Ada, receipt .{36}\.$/) })
    expect(drops).toBe(2)
  },
)

test('a client resumes a standing stream, and gets the events that it missed', async () => {
  await using client = await connect(everything.url, { revision: '2025-11-25' })
  const watched = await client.subscribe({ toolsListChanged: true })
  await client.dropStream()
  for (const how of ['enable', 'disable']) {
    await client.callTool('turn', { what: 'tool', how })
    await client.next('notifications/tools/list_changed')
    await client.dropStream()
  }
  await watched.close()
})

test('dropStream() is an error of a client without a stream', async () => {
  await using session = await connect(confirm.url, { revision: '2025-11-25' })
  await expect(session.dropStream()).rejects.toThrow('There is no stream to drop yet')
  for (const options of [{ revision: '2026-07-28' }, { revision: '2024-11-05', sse: true }]) {
    await using client = await connect(confirm.url, options)
    await expect(client.dropStream()).rejects.toThrow('only sessions over Streamable HTTP have')
  }
})
