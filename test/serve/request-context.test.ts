/** The option `requestContext` of `serve()`: what handlers get, which request it is from, and where its secrets are stored. */
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { events } from '../../worker/client/wire.ts'
import { connect, type TestClient } from '../../worker/testing/index.ts'
import { type ControlledServer, startControlled } from '../support/objects.ts'
import { type ServerProcess, serverProcess } from '../support/process.ts'
import { statelessHeaders } from '../support/stateless.ts'
import { TaskClient, textOf } from '../tasks/client.ts'

let server: ControlledServer
beforeAll(async () => {
  server = await startControlled('test/serve/request-context')
})
afterAll(() => server[Symbol.asyncDispose]())

/** The headers of the next request of a client. */
type Sent = Record<string, string>

/** Connects a client whose headers a test can change between its requests. */
async function connected(
  url: URL,
  revision: string,
  sent: Sent,
  options: Partial<Parameters<typeof connect>[1]> = {},
): Promise<TestClient> {
  return connect(url, { revision, headers: sent, ...options })
}

const contentOf = ({ content }: { content: unknown }) => (content as { text: string }[])[0]?.text ?? ''
const seenBy = async (client: TestClient) => JSON.parse(contentOf(await client.callTool('seen')))

const eras = [
  ['2026-07-28', false],
  ['2025-11-25', false],
  ['2024-11-05', true],
] as const

describe.each(eras)('a client of %s (HTTP+SSE: %s)', (revision, sse) => {
  test('has one request context object for the interceptors and the handler of a call', async () => {
    await using client = await connected(server.url, revision, { 'X-Account': 'a1' }, { sse })
    expect(contentOf(await client.callTool('connects'))).toBe('2')
    expect(contentOf(await client.callTool('connects'))).toBe('2')
  })

  test('has the request context in tools, prompts, resources and interceptors', async () => {
    const token = btoa(JSON.stringify({ iss: 'https://issuer.example', sub: 'ada' }))
    const sent = { 'X-Account': 'a1', 'X-Api-Key': 'key-1', Authorization: `Bearer ${token}` }
    await using client = await connected(server.url, revision, sent, { sse })
    const expected = { account: 'a1', subject: 'ada', greeting: 'from the environment', key: '1-yek' }
    expect(await seenBy(client)).toEqual(expected)
    expect(await client.callTool('seen')).toMatchObject({ _meta: { account: 'a1' } })
    const { messages } = await client.request('prompts/get', { name: 'seen' })
    expect(JSON.parse((messages as { content: { text: string } }[])[0]?.content.text ?? '')).toEqual(expected)
    const { contents } = await client.request('resources/read', { uri: 'context://me' })
    expect(JSON.parse((contents as { text: string }[])[0]?.text ?? '')).toEqual(expected)
  })

  test('passes no token to handlers in the headers of the HTTP request', async () => {
    const token = btoa(JSON.stringify({ iss: 'https://issuer.example', sub: 'ada' }))
    await using client = await connected(server.url, revision, { 'X-Account': 'acme' }, { sse, token })
    expect(JSON.parse(contentOf(await client.callTool('headers')))).toEqual([null, 'acme'])
  })

  test('gets the request context of each request, read once', async () => {
    const sent: Sent = { 'X-Account': `first ${revision}` }
    await using client = await connected(server.url, revision, sent, { sse })
    expect(await seenBy(client)).toEqual({ account: `first ${revision}`, greeting: 'from the environment' })
    sent['X-Account'] = `second ${revision}`
    expect(await seenBy(client)).toMatchObject({ account: `second ${revision}` })
    expect(contentOf(await client.callTool('count', { of: `second ${revision}` }))).toBe('2')
  })

  test('gets no secret in text or JSON', async () => {
    await using client = await connected(server.url, revision, { 'X-Api-Key': 'concealed' }, { sse })
    const shown = contentOf(await client.callTool('shown'))
    expect(shown).toBe('[secret] {"account":"none","greeting":"from the environment","credentials":{"key":"[secret]"}}')
    const logs = () => server.harness.getLogs().map(({ message }) => message)
    await expect.poll(logs).toContainEqual(expect.stringMatching(/A secret in a log:.*\[secret\].*\[secret\]/s))
    expect(logs().join('\n')).not.toContain('concealed')
  })
})

describe('a call that requests input', () => {
  const answering = (sent: Sent) => ({
    elicit: () => {
      sent['X-Account'] = 'later'
      return { action: 'accept', content: {} }
    },
  })

  test.each([
    ['2026-07-28', false, 'later'],
    ['2025-11-25', false, 'earlier'],
    ['2025-11-25', true, 'earlier'],
  ])(
    'of %s (HTTP+SSE: %s) has the documented request context after the input response: %s',
    async (revision, sse, account) => {
      const sent: Sent = { 'X-Account': 'earlier', 'X-Api-Key': 'key-2' }
      const options = { sse, answers: answering(sent), capabilities: { elicitation: {} } }
      await using client = await connected(server.url, revision, sent, options)
      expect(JSON.parse(contentOf(await client.callTool('confirm')))).toMatchObject({
        first: 'earlier',
        now: { account, key: '2-yek' },
      })
    },
  )
})

describe('the option requestContext', () => {
  const json = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }
  const send = (body: object, headers: Sent = {}) =>
    fetch(server.url, { method: 'POST', headers: { ...json, ...headers }, body: JSON.stringify(body) })
  const countOf = async (account: string) => {
    await using client = await connected(server.url, '2026-07-28', {})
    return Number(contentOf(await client.callTool('count', { of: account })))
  }

  test('is called once for a batch, and not for other requests than a POST with calls', async () => {
    const clientInfo = { name: 'test', version: '1' }
    const params = { protocolVersion: '2025-03-26', capabilities: {}, clientInfo }
    const opened = await send({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
    const session = { 'Mcp-Session-Id': opened.headers.get('Mcp-Session-Id') as string }
    const counted = { ...session, 'X-Account': 'counted' }
    const call = { jsonrpc: '2.0', method: 'tools/call', params: { name: 'seen', arguments: {} } }
    const answers = await (
      await send(
        [
          { ...call, id: 2 },
          { ...call, id: 3 },
        ],
        counted,
      )
    ).json()
    expect(answers).toMatchObject([{ id: 2 }, { id: 3 }])
    expect(await countOf('counted')).toBe(1)

    const notification = { jsonrpc: '2.0', method: 'notifications/roots/list_changed' }
    expect((await send(notification, counted)).status).toBe(202)
    expect((await send({ jsonrpc: '2.0', id: 'ask-1', result: {} }, counted)).status).toBe(202)
    const stop = new AbortController()
    const stream = await fetch(server.url, {
      headers: { ...counted, Accept: 'text/event-stream' },
      signal: stop.signal,
    })
    expect(stream.status).toBe(200)
    stop.abort()
    expect((await fetch(server.url, { method: 'DELETE', headers: counted })).status).toBe(204)
    expect(await countOf('counted')).toBe(1)
  })

  test('is not called for a caller whose token is invalid', async () => {
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'seen', arguments: {} } }
    const response = await send(call, { 'X-Account': 'invalid', Authorization: `Bearer ${btoa('{}')}` })
    expect([response.status, await countOf('invalid')]).toEqual([401, 0])
  })
})

/** Sends a call that an error rejects, in both eras. */
async function rejected(mode: string, revision: '2026-07-28' | '2025-11-25') {
  const params = { name: 'seen', arguments: {} }
  const protocol = 'io.modelcontextprotocol'
  const _meta = { [`${protocol}/protocolVersion`]: revision, [`${protocol}/clientCapabilities`]: {} }
  const headers =
    revision === '2026-07-28'
      ? statelessHeaders('tools/call', 'seen')
      : { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }
  const response = await fetch(server.url, {
    method: 'POST',
    headers: { ...headers, 'X-Mode': mode, 'X-Account': 'late' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 7,
      method: 'tools/call',
      params: revision === '2026-07-28' ? { ...params, _meta } : params,
    }),
  })
  return { status: response.status, headers: response.headers, body: JSON.parse(await response.text()) }
}

describe.each(['2026-07-28', '2025-11-25'] as const)('a request context that cannot be read, in %s', (revision) => {
  test('rejects the request with the McpError that it throws', async () => {
    expect(await rejected('forbidden', revision)).toMatchObject({
      status: 403,
      body: { id: 7, error: { code: -32600, message: 'The account "late" is suspended' } },
    })
  })

  test('rejects the request with the Response that it throws', async () => {
    const { status, headers, body } = await rejected('response', revision)
    expect({ status, body }).toEqual({ status: 402, body: { suspended: true } })
    expect(headers.get('X-Reason')).toBe('payment')
  })

  test.each([
    ['failure', 'The database of accounts is unreachable'],
    ['date', 'requestContext of serve() returned a Date at "since": return its text'],
    ['function', 'secret() got a function, which has no JSON form: use plain objects, arrays'],
    ['large', 'characters of JSON, most of them in "greeting" (20002): at most 16384 are allowed'],
    ['text', 'requestContext of serve() returned a string: return an object'],
  ])('is an internal error that is reported, not sent: %s', async (mode, reported) => {
    server.harness.clearLogs()
    expect(await rejected(mode, revision)).toMatchObject({
      body: { id: 7, error: { code: -32603, message: 'Internal error' } },
    })
    await expect.poll(() => JSON.stringify(server.harness.getLogs())).toContain(JSON.stringify(reported).slice(1, -1))
  })
})

/** Returns the names of the files below a folder that contain a text. */
const filesWith = (text: string, folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => readFileSync(path).includes(text))

describe('a secret of the request context', () => {
  const key = 'MARKER-IN-A-SECRET'
  const expected = { account: 'stored', key: key.split('').reverse().join('') }
  const sent = { 'X-Account': 'stored', 'X-Api-Key': key }
  let process: ServerProcess
  let folder = ''
  beforeAll(async () => {
    process = await serverProcess(({ port, data }) => {
      folder = data
      return ['scripts/start.ts', '../test/serve/request-context', '--port', port, '--data', data]
    })
    await process.start()
  })
  afterAll(() => process[Symbol.asyncDispose]())

  test('is not stored with a session call that waits for an input response', async () => {
    let stored: string[] = []
    const elicit = () => {
      // The account is stored: this looks into the right files.
      expect(filesWith('confirm', folder)).not.toEqual([])
      stored = filesWith(key, folder)
      return { action: 'accept', content: {} }
    }
    await using client = await connected(process.url, '2025-11-25', sent, { answers: { elicit } })
    expect(JSON.parse(contentOf(await client.callTool('confirm'))).now).toMatchObject(expected)
    expect([...stored, ...filesWith(key, folder)]).toEqual([])
  })

  test('is not stored with a call that is replayed after its object was lost', async () => {
    await using gate = await openGate()
    const post = (message: object, headers: Sent = {}) =>
      fetch(process.url, {
        method: 'POST',
        headers: {
          'Content-Type': 'application/json',
          Accept: 'application/json, text/event-stream',
          ...sent,
          ...headers,
        },
        body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      })
    const clientInfo = { name: 'test', version: '1' }
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
    const opened = await post({ id: 1, method: 'initialize', params })
    const session = { 'Mcp-Session-Id': opened.headers.get('Mcp-Session-Id') as string }
    const call = { name: 'gated', arguments: { gate: gate.url } }
    const stream = events(await post({ id: 2, method: 'tools/call', params: call }, session))
    const first = await stream.next()
    await gate.reached
    expect(filesWith('gated', folder)).not.toEqual([])
    await process.kill()
    expect(filesWith(key, folder)).toEqual([])
    gate.open()
    await process.start()
    const resumed = await fetch(process.url, {
      headers: { Accept: 'text/event-stream', ...session, 'Last-Event-ID': String(first.value?.id) },
    })
    for await (const { data } of events(resumed)) {
      if (!data.includes('"id":2')) continue
      expect(JSON.parse(contentOf(JSON.parse(data).result))).toMatchObject({ ...expected, hasRequest: false })
      break
    }
    expect(filesWith(key, folder)).toEqual([])
  })

  test('is not stored with a task that sleeps', async () => {
    const client = new TaskClient(process.url)
    const taskId = await client.begin('sleepy', { ms: 200 }, { headers: sent })
    expect(filesWith('sleepy', folder)).not.toEqual([])
    const during = filesWith(key, folder)
    const task = await client.until(taskId, 'completed', { headers: sent })
    expect(JSON.parse(String(textOf(task)))).toMatchObject({ ...expected, hasRequest: false })
    expect([...during, ...filesWith(key, folder)]).toEqual([])
  })

  test('is not stored with a task that a session starts', async () => {
    await using client = await connected(process.url, '2025-11-25', sent)
    const { task } = await client.request('tools/call', { name: 'sleepy', arguments: { ms: 200 }, task: {} })
    const { taskId } = task as { taskId: string }
    const during = filesWith(key, folder)
    const result = await client.request('tasks/result', { taskId })
    expect(JSON.parse(contentOf(result as { content: unknown }))).toMatchObject({ ...expected, hasRequest: false })
    expect([...during, ...filesWith(key, folder)]).toEqual([])
  })

  test('is neither stored nor sent with a request state', async () => {
    const client = new TaskClient(process.url)
    const call = { name: 'confirm', arguments: {} }
    const asked = await client.result('tools/call', call, { headers: sent })
    expect(asked).toMatchObject({ resultType: 'input_required', requestState: expect.any(String) })
    const answered = {
      ...call,
      requestState: asked.requestState,
      inputResponses: { sure: { action: 'accept', content: {} } },
    }
    const result = await client.result('tools/call', answered, { headers: sent })
    expect(JSON.parse(contentOf(result as { content: unknown })).now).toMatchObject(expected)
    expect(filesWith(key, folder)).toEqual([])
  })
})

/** An HTTP server that answers no request until `open` is called. `reached` resolves at the first request. */
async function openGate() {
  const reached = Promise.withResolvers<void>()
  const opened = Promise.withResolvers<void>()
  const gate = createServer(async (_, response) => {
    reached.resolve()
    await opened.promise
    response.end('open')
  })
  await new Promise<void>((resolve) => gate.listen(0, '127.0.0.1', resolve))
  const { port } = gate.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/`,
    reached: reached.promise,
    open: opened.resolve,
    async [Symbol.asyncDispose]() {
      opened.resolve()
      gate.closeAllConnections()
      await new Promise((resolve) => gate.close(resolve))
    },
  }
}
