import { once } from 'node:events'
import { connect as connectSocket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect, everyRevision, type TestClient } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { statelessHeaders } from '../support/stateless.ts'

let server: TestServer

beforeAll(async () => {
  server = await startServer('test/limits/limited')
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

let callers = 0
/** The token of a caller who has used nothing up yet. */
const newCaller = () => `caller${++callers}`

const json = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }

const call = (id: number, name: string, params: object = {}) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, ...params },
})

/** Starts a session with raw HTTP. Returns what its next requests send as headers. */
async function startSession(version: string, token: string, capabilities: object = {}) {
  const headers = { ...json, Authorization: `Bearer ${token}` }
  const params = { protocolVersion: version, capabilities, clientInfo: { name: 'raw', version: '1' } }
  const response = await fetch(server.url, {
    method: 'POST',
    headers,
    body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }),
  })
  await response.text()
  return { ...headers, 'Mcp-Session-Id': response.headers.get('Mcp-Session-Id') as string }
}

const post = (headers: Record<string, string>, body: unknown, signal?: AbortSignal) =>
  fetch(server.url, { method: 'POST', headers, body: JSON.stringify(body), ...(signal && { signal }) })

type Answer = { id: number; result?: { content: { text: string }[] }; error?: { message: string; code: number } }

/** The answers in a response, by id: "done", or the message of the error. */
async function answersIn(response: Response): Promise<Record<number, string>> {
  const text = await response.text()
  const messages: Answer[] = response.headers.get('Content-Type')?.startsWith('text/event-stream')
    ? text.split('\n').flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6))] : []))
    : JSON.parse(text)
  return Object.fromEntries(
    messages
      .filter(({ id }) => id !== undefined)
      .map(({ id, result, error }) => [id, result?.content[0]?.text ?? error?.message ?? '']),
  )
}

/** How many handlers of all callers are held. */
async function heldHandlers(): Promise<number> {
  await using client = await connect(server.url, { revision: '2026-07-28', token: newCaller() })
  return Number(await whatBecame(client.callTool('held')))
}

/** Lets the held handlers of all callers return. */
async function release(): Promise<void> {
  await using client = await connect(server.url, { revision: '2026-07-28', token: newCaller() })
  await client.callTool('release')
}

const whatBecame = (answered: Promise<unknown>) =>
  answered.then(
    (result) => (result as { content: { text: string }[] }).content[0]?.text,
    (error: Error) => error.message,
  )

describe('a batch of 2025-03-26', () => {
  test('gets an error for each call beyond a quota, and the other calls run', async () => {
    const headers = await startSession('2025-03-26', newCaller())
    const names = ['daily', 'free', 'daily', 'daily', 'free', 'daily']
    const response = await post(
      headers,
      names.map((name, id) => call(id, name)),
    )
    expect(response.status).toBe(200)
    const full = expect.stringMatching(
      /^Too many calls of daily: at most 2 in a day\. Wait \d+ seconds, then try again$/,
    )
    expect(await answersIn(response)).toEqual({ 0: 'done', 1: 'done', 2: 'done', 3: full, 4: 'done', 5: full })
    const next = await post(headers, call(9, 'daily'))
    expect(next.status).toBe(429)
    expect(Number(next.headers.get('Retry-After'))).toBeGreaterThan(0)
    expect(await next.json()).toMatchObject({ id: 9, error: { message: full } })
  })

  test('counts each of its calls towards the quota of the server', async () => {
    const headers = await startSession('2025-03-26', newCaller())
    let done = 0
    for (let round = 0; round < 5; round++) {
      const response = await post(
        headers,
        Array.from({ length: 10 }, (_, id) => call(id, 'free')),
      )
      done += Object.values(await answersIn(response)).filter((text) => text === 'done').length
    }
    // One of 40 was `initialize`.
    expect(done).toBe(39)
  })

  test('gets an error for each call beyond `concurrent`', async () => {
    const headers = await startSession('2025-03-26', newCaller())
    const batch = Array.from({ length: 6 }, (_, id) => call(id, id < 5 ? 'silent' : 'free'))
    const before = await heldHandlers()
    const response = post(headers, batch)
    // The batch has the slot before the next call asks for it.
    await expect.poll(heldHandlers).toBe(before + 1)
    const next = await post(headers, call(9, 'silent'))
    expect(next.status).toBe(429)
    await next.text()
    await release()
    const full = 'Too many calls of silent are running: at most 1 at a time. Wait for one to end, then try again'
    const released = { 0: 'released', 1: full, 2: full, 3: full, 4: full, 5: 'done' }
    expect(await answersIn(await response)).toEqual(released)
  })

  test('gets an array of errors when all its calls are refused', async () => {
    const headers = await startSession('2025-03-26', newCaller())
    await (await post(headers, [call(1, 'daily'), call(2, 'daily')])).text()
    const response = await post(headers, [call(3, 'daily'), call(4, 'daily')])
    const full = expect.stringContaining('Too many calls of daily')
    expect(await answersIn(response)).toEqual({ 3: full, 4: full })
  })
})

test('calls over HTTP+SSE hold their slot until they end', async () => {
  await using client = await connect(server.url, { revision: '2024-11-05', sse: true, token: newCaller() })
  const calls: Promise<unknown>[] = []
  for (let call = 0; call < 5; call++) {
    calls.push(whatBecame(client.callTool('silent')))
    // Its POST has been answered with 202 when this one is.
    await client.request('ping')
  }
  const full = expect.stringContaining('Too many calls of silent are running')
  await release()
  expect((await Promise.all(calls)).sort()).toEqual([full, full, full, full, 'released'])
})

test('calls of a session hold their slot when their client disconnects, and release it when they end', async () => {
  const headers = await startSession('2025-11-25', newCaller())
  for (const id of [1, 2]) {
    const stream = await post(headers, call(id, 'hold', { _meta: { progressToken: id } }))
    expect(stream.headers.get('Content-Type')).toBe('text/event-stream')
    await stream.body?.cancel()
  }
  // The server notices a client that has gone when it next writes a keep-alive comment, which is ten times a second here.
  for (let attempt = 0; attempt < 10; attempt++) {
    const refused = await post(headers, call(3, 'hold'))
    expect(refused.status).toBe(429)
    await refused.text()
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  await release()
  const hangUp = new AbortController()
  const statusOfNext = async () => {
    const response = await post(headers, call(4, 'hold', { _meta: { progressToken: 4 } }), hangUp.signal)
    return response.status
  }
  await expect.poll(statusOfNext).toBe(200)
  hangUp.abort()
  await release()
})

test('a cancelled session call holds its slot until its handler returns', async () => {
  const headers = await startSession('2025-11-25', newCaller())
  const before = await heldHandlers()
  const first = post(headers, call(1, 'silent'))
  await expect.poll(heldHandlers).toBe(before + 1)
  expect((await post(headers, call(2, 'silent'))).status).toBe(429)
  const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }
  expect((await post(headers, cancelled)).status).toBe(202)
  await first
  // Its handler ignores the signal, so it is still running.
  expect((await post(headers, call(3, 'silent'))).status).toBe(429)
  await release()
  const free = await heldHandlers()
  const again = post(headers, call(4, 'silent'))
  await expect.poll(heldHandlers).toBe(free + 1)
  expect((await post(headers, call(5, 'silent'))).status).toBe(429)
  await release()
  expect((await again).status).toBe(200)
})

describe('a stateless call whose client disconnects', () => {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const silent = (args: object) =>
    call(1, 'silent', { arguments: args, _meta: { ..._meta, progressToken: 'progress' } })
  const stateless = (token: string, args: object = {}, signal?: AbortSignal) =>
    post({ ...statelessHeaders('tools/call', 'silent'), Authorization: `Bearer ${token}` }, silent(args), signal)

  /** Calls once, and hangs up as soon as the status is known. */
  const statusOfNext = async (token: string) => {
    const { status, body } = await stateless(token, { isAnnounced: true })
    await body?.cancel()
    return status
  }

  test('releases its slot, before and after the start of its event stream', async () => {
    const token = newCaller()
    const before = await heldHandlers()
    const hangUp = new AbortController()
    // Its answer begins as an event stream after `limits.streamAfterMs`. A slow machine may hang up later than that, and is no less gone.
    const hung = stateless(token, {}, hangUp.signal)
      .then((response) => response.text())
      .catch(() => 'hung up')
    await expect.poll(heldHandlers).toBe(before + 1)
    expect(await statusOfNext(token)).toBe(429)
    hangUp.abort()
    expect(await hung).toBe('hung up')
    for (let call = 0; call < 3; call++) await expect.poll(() => statusOfNext(token)).toBe(200)
  })

  test('releases its slot when the connection of its stream is reset', async () => {
    const token = newCaller()
    const before = await heldHandlers()
    const body = JSON.stringify(silent({ isAnnounced: true }))
    const head = { ...statelessHeaders('tools/call', 'silent'), Authorization: `Bearer ${token}` }
    const lines = Object.entries({ ...head, Host: server.url.host, 'Content-Length': String(body.length) })
    const socket = connectSocket({ host: server.url.hostname, port: Number(server.url.port) })
    socket.write(`POST /mcp HTTP/1.1\r\n${lines.map((line) => line.join(': ')).join('\r\n')}\r\n\r\n${body}`)
    await once(socket, 'data')
    await expect.poll(heldHandlers).toBe(before + 1)
    expect(await statusOfNext(token)).toBe(429)
    socket.resetAndDestroy()
    await expect.poll(() => statusOfNext(token)).toBe(200)
  })
})

test('a call that `concurrent` refuses uses up no quota', async () => {
  const headers = await startSession('2025-03-26', newCaller())
  for (let round = 0; round < 3; round++) {
    const before = await heldHandlers()
    const batch = post(
      headers,
      Array.from({ length: 4 }, (_, id) => call(id, 'scarce')),
    )
    // The batch has the slot before the next call asks for it.
    await expect.poll(heldHandlers).toBe(before + 1)
    expect((await post(headers, call(9, 'scarce'))).status).toBe(429)
    await release()
    expect((await answersIn(await batch))[0]).toBe('released')
  }
  const spent = await post(headers, call(9, 'scarce'))
  expect(await spent.text()).toContain('Too many calls of scarce: at most 3 in a day')
})

describe('a call that waits for its client', () => {
  const sessionRevisions = ['2025-11-25', '2025-06-18']

  test.each(sessionRevisions)(
    'holds its slot in a session of %s, and its input response does not count',
    async (revision) => {
      const asked = Promise.withResolvers<void>()
      const answered = Promise.withResolvers<void>()
      const elicit = async () => {
        asked.resolve()
        await answered.promise
        return { action: 'accept' as const, content: { word: 'blue' } }
      }
      await using client = await connect(server.url, { revision, token: newCaller(), answers: { elicit } })
      const first = whatBecame(client.callTool('question'))
      await asked.promise
      expect(await whatBecame(client.callTool('question'))).toContain('Too many calls of question are running')
      answered.resolve()
      expect(await first).toBe('blue')
      expect(await whatBecame(client.callTool('question'))).toBe('blue')
      expect(await whatBecame(client.callTool('question'))).toContain('Too many calls of question: at most 2 in a day')
    },
  )

  test('counts in each of its rounds when requests are stateless, because a state can be sent again', async () => {
    const answers = { elicit: async () => ({ action: 'accept' as const, content: { word: 'blue' } }) }
    await using client: TestClient = await connect(server.url, { revision: '2026-07-28', token: newCaller(), answers })
    expect(await whatBecame(client.callTool('question'))).toBe('blue')
    expect(await whatBecame(client.callTool('question'))).toContain('Too many calls of question: at most 2 in a day')
  })
})

test.each(everyRevision.filter((revision) => revision < '2026'))(
  'requests of %s other than calls count towards the quota of the server',
  async (revision) => {
    await using client = await connect(server.url, { revision, token: newCaller() })
    // 40 in an hour: one was `initialize`.
    for (let request = 0; request < 39; request++) await client.request(request % 2 ? 'ping' : 'tools/list')
    await expect(client.request('tools/list')).rejects.toThrow('Too many requests: at most 40 in an hour')
    await expect(client.request('ping')).rejects.toThrow('Too many requests: at most 40 in an hour')
  },
)
