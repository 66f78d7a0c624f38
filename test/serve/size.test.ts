import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { events } from '../../worker/client/wire.ts'
import { maxBatchCharacters } from '../../worker/engine/batch-answers.ts'
import { connect } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/serve/large')
})
afterAll(() => server[Symbol.asyncDispose]())

const megabyte = 1_000_000

test.each([
  [
    'a result on a stream',
    'fill',
    { log: 1, result: 3 * megabyte },
    /^The tool "fill" returned 30\d{5} bytes of JSON, and a stream of a session sends at most 1995904:/,
  ],
  [
    'a result in one response',
    'fill',
    { result: 40 * megabyte },
    /^The tool "fill" returned 40\d{6} bytes of JSON, and this server sends at most 8388608:/,
  ],
  ['a notification', 'fill', { log: 3 * megabyte }, /^The message has 30\d{5} bytes.* has at most 2000000 bytes/],
  ['an input request', 'ask', { text: 3 * megabyte }, /^The (message|call) has \d+ bytes.* has at most 2000000 bytes/],
  [
    'a request that becomes a stream',
    'fill',
    { log: 1, padding: 'x'.repeat(3 * megabyte) },
    /^The call has 30\d{5} bytes.* has at most 2000000 bytes/,
  ],
])(
  '%s that is too large for a session is an error that names its size and the limit',
  async (_, name, args, message) => {
    await using client = await connect(server.url, {
      revision: '2025-11-25',
      answers: { elicit: () => ({ action: 'accept', content: { sure: true } }) },
    })
    await client.request('logging/setLevel', { level: 'info' })
    const outcome = await client.callTool(name, args).then(
      ({ isError, content }) => (isError ? (content[0] as { text: string }).text : 'a result'),
      ({ message }: Error) => message,
    )
    expect(outcome).toMatch(message)
    // The session goes on.
    expect(await client.callTool('fill', { log: 1, result: 10 })).toMatchObject({ content: [{ text: 'xxxxxxxxxx' }] })
  },
)

test('a large request and a large result that fit in one response are served', async () => {
  await using client = await connect(server.url, { revision: '2025-11-25' })
  const result = await client.callTool('fill', { padding: 'x'.repeat(3 * megabyte), result: 5 * megabyte })
  expect((result.content[0] as { text: string }).text).toHaveLength(5 * megabyte)
})

test('each response arrives over HTTP+SSE, although its client reads late and notifications are deleted meanwhile', async () => {
  const opened = await fetch(new URL('/sse', server.url), { headers: { Accept: 'text/event-stream' } })
  const incoming = events(opened)
  const { value: endpoint } = await incoming.next()
  const post = (id: number, method: string, params: object) =>
    fetch(new URL(endpoint?.data ?? '', server.url), {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
    })
  await post(1, 'initialize', {
    protocolVersion: '2024-11-05',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  })
  const ids = Array.from({ length: 36 }, (_, index) => index + 2)
  const args = { log: megabyte, result: megabyte / 2 }
  for (const id of ids)
    expect(await post(id, 'tools/call', { name: 'fill', arguments: args })).toHaveProperty('ok', true)
  await post(100, 'ping', {})
  const answered = new Set<number>()
  for await (const { data } of incoming) {
    const { id } = JSON.parse(data)
    if (id !== undefined) answered.add(id)
    if (answered.has(100) && answered.has(ids.at(-1) as number)) break
  }
  expect([...answered].filter((id) => id > 1 && id < 100)).toEqual(ids)
})

describe('the results of a batch', () => {
  const count = 60
  const batch = Array.from({ length: count }, (_, id) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'fill', arguments: { result: megabyte } },
  }))
  const json = { 'Content-Type': 'application/json', Accept: 'application/json' }

  async function startSession(): Promise<Record<string, string>> {
    const params = { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'large', version: '1' } }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 'first', method: 'initialize', params })
    const { headers } = await fetch(server.url, { method: 'POST', headers: json, body })
    return { 'Mcp-Session-Id': String(headers.get('Mcp-Session-Id')) }
  }

  test.each([
    ['without a session', async () => ({})],
    ['in a session', startSession],
  ])('have a limit together, above which they are errors, %s', async (_, session) => {
    const headers = { ...json, ...(await session()) }
    const response = await fetch(server.url, { method: 'POST', headers, body: JSON.stringify(batch) })
    const text = await response.text()
    const answers = JSON.parse(text) as { id: number; result?: object; error?: { code: number; message: string } }[]
    expect(answers.map(({ id }) => id).sort((one, other) => one - other)).toEqual(batch.map(({ id }) => id))
    const results = answers.filter(({ result }) => result)
    const fitting = Math.floor(maxBatchCharacters / JSON.stringify(results[0]).length)
    expect(results).toHaveLength(fitting)
    for (const { error } of answers.filter(({ result }) => !result)) {
      expect(error).toEqual({
        code: -32603,
        message: 'The responses to the batch exceed 8388608 characters: send this request separately',
      })
    }
    expect(text.length).toBeLessThan(maxBatchCharacters + count * 300)
  })

  test('have it also on a stream', async () => {
    const headers = { ...json, Accept: 'application/json, text/event-stream', ...(await startSession()) }
    const logging = batch.map((each) => ({
      ...each,
      params: { ...each.params, arguments: { log: 1, result: megabyte } },
    }))
    const response = await fetch(server.url, { method: 'POST', headers, body: JSON.stringify(logging) })
    expect(response.headers.get('Content-Type')).toBe('text/event-stream')
    const answers: { id?: number; result?: object; error?: { message: string } }[] = []
    for await (const { data } of events(response)) if (data) answers.push(JSON.parse(data))
    const results = answers.filter(({ result }) => result)
    expect(results).toHaveLength(Math.floor(maxBatchCharacters / JSON.stringify(results[0]).length))
    const messages = answers.flatMap(({ error }) => error?.message ?? [])
    expect(messages).toHaveLength(count - results.length)
    expect(new Set(messages)).toEqual(
      new Set(['The responses to the batch exceed 8388608 characters: send this request separately']),
    )
  })
})

describe('the calls of a batch', () => {
  const size = 50
  const json = { 'Content-Type': 'application/json', Accept: 'application/json' }
  const post = (message: unknown, headers: Record<string, string> = {}) =>
    fetch(server.url, { method: 'POST', headers: { ...json, ...headers }, body: JSON.stringify(message) })
  const call = (id: number, name: string) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name } })
  const initialize = {
    jsonrpc: '2.0',
    id: 0,
    method: 'initialize',
    params: { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'large', version: '1' } },
  }

  async function countStarted(): Promise<number> {
    const { result } = (await (await post(call(1, 'count'))).json()) as { result: { content: [{ text: string }] } }
    return Number(result.content[0].text)
  }

  const places: [string, () => Promise<Record<string, string>>][] = [
    ['without a session', async () => ({})],
    [
      'in a session',
      async () => ({ 'Mcp-Session-Id': String((await post(initialize)).headers.get('Mcp-Session-Id')) }),
    ],
  ]

  test.each(places)('let other requests of the isolate run between them, %s', async (_, session) => {
    const headers = await session()
    const before = await countStarted()
    const batch = Array.from({ length: size }, (_, id) => call(id, 'work'))
    let isAnswered = false
    const answered = post(batch, headers).finally(() => {
      isAnswered = true
    })
    const counts = new Set<number>()
    while (!isAnswered) counts.add((await countStarted()) - before)
    expect(await (await answered).json()).toHaveLength(size)
    expect([...counts].filter((count) => count > 0 && count < size)).not.toEqual([])
    expect((await countStarted()) - before).toBe(size)
  })

  test.each(places)('run one after the other, so that one result at a time is in memory, %s', async (_, session) => {
    const batch = Array.from({ length: 5 }, (_, id) => call(id, 'overlap'))
    const response = await post(batch, await session())
    const answers = (await response.json()) as { id: number; result: { content: [{ text: string }] } }[]
    expect(answers.map(({ id, result }) => [id, result.content[0].text])).toEqual(
      [0, 1, 2, 3, 4].map((id) => [id, '1']),
    )
  })

  test('go on one after the other, if one batch of responses continues them', async () => {
    const sampling = { ...initialize, params: { ...initialize.params, capabilities: { sampling: {} } } }
    const session = { 'Mcp-Session-Id': String((await post(sampling)).headers.get('Mcp-Session-Id')) }
    const headers = { ...session, Accept: 'application/json, text/event-stream' }
    const calls = Array.from({ length: 5 }, (_, id) => call(id, 'asked'))
    const questions: string[] = []
    const texts: string[] = []
    for await (const { data } of events(await post(calls, headers))) {
      if (data === '') continue
      const { id, method, result } = JSON.parse(data)
      if (method !== 'sampling/createMessage') texts.push(result.content[0].text)
      else questions.push(id)
      if (method === undefined || questions.length < calls.length) continue
      const answer = { role: 'assistant', content: { type: 'text', text: 'Yes' }, model: 'm' }
      await post(
        questions.map((question) => ({ jsonrpc: '2.0', id: question, result: answer })),
        session,
      )
    }
    expect(texts).toEqual(calls.map(() => '1'))
  })
})
