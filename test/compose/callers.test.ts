/** Callers of one upstream stay apart, whatever the upstream answers. */

import type { ServerResponse } from 'node:http'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import * as z from 'zod'
import { connect } from '../../worker/testing/index.ts'
import { newServer, refusal, result } from '../engine/stage.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { postMessage } from '../support/session-http.ts'
import { type Sdk, startSdk } from './behind.ts'
import { nodeProxy } from './node-proxy.ts'
import { rpcError, scripted } from './scripted.ts'
import { answerAsAsked, type Stub, type StubRequest, sendJson, startStub, textResult } from './stub.ts'

type Json = Record<string, unknown>

let stub: Stub
let other: Stub
let server: TestServer
beforeAll(async () => {
  stub = await startStub()
  other = await startStub()
  server = await startServer('test/compose/callers', { UPSTREAM: stub.url, OTHER: other.url })
})
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  stub.close()
  other.close()
})
beforeEach(() => {
  stub.requests.length = 0
})
afterEach(() => {
  stub.call = answerAsAsked
})

const at = (path: string, token?: string, revision = '2026-07-28') =>
  connect(new URL(path, server.url), { revision, sse: false, ...(token && { token }) })
const secretOf = async (path: string, token: string | undefined, who: string, name = 'secret_of') => {
  await using client = await at(path, token)
  const result = await client.callTool(name, { who })
  return ((result.content as Json[])[0] as { text: string }).text
}
const callsOf = (upstream: Stub) => upstream.requests.filter(({ method }) => method === 'tools/call')

/** Waits for this many calls, then answers them in the opposite order. */
function inReverse(count: number, answer = answerAsAsked) {
  const waiting: [StubRequest, ServerResponse][] = []
  return (request: StubRequest, response: ServerResponse) => {
    waiting.unshift([request, response])
    if (waiting.length === count) for (const each of waiting.splice(0)) answer(...each)
  }
}

describe('sessions of an upstream', () => {
  test('callers with different principals have separate sessions and request ids', async () => {
    stub.call = inReverse(3)
    const callers = ['ada', 'bob', undefined]
    const said = await Promise.all(callers.map((token) => secretOf('/mcp', token, `${token}`)))
    expect(said).toEqual(callers.map((token) => `the secret of ${token}`))
    const calls = callsOf(stub)
    expect(new Set(calls.map(({ id }) => id)).size).toBe(3)
    expect(new Set(calls.map(({ session }) => session)).size).toBe(3)
    const ids = stub.requests.filter(({ method }) => method && !method.startsWith('notifications/')).map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('calls of one principal share a session', async () => {
    await secretOf('/mcp', 'grace', 'grace')
    await secretOf('/mcp', 'grace', 'grace')
    expect(new Set(callsOf(stub).map(({ session }) => session)).size).toBe(1)
    expect(stub.requests.filter(({ http }) => http === 'DELETE')).toEqual([])
  })

  test('an anonymous call without a session gets a session that ends with the call', async () => {
    await secretOf('/mcp', undefined, 'nobody')
    await secretOf('/mcp', undefined, 'nobody')
    const used = callsOf(stub).map(({ session }) => session)
    expect(new Set(used).size).toBe(2)
    await expect.poll(() => used.filter((session) => stub.sessions.has(session ?? ''))).toEqual([])
  })

  test('anonymous calls of one session share an upstream session, and not with another session', async () => {
    await using one = await at('/mcp', undefined, '2025-11-25')
    await using two = await at('/mcp', undefined, '2025-11-25')
    for (const client of [one, one, two]) await client.callTool('secret_of', { who: 'x' })
    const [first, second, third] = callsOf(stub).map(({ session }) => session)
    expect(first).toBe(second)
    expect(third).not.toBe(first)
  })

  test('callers share a session when sharedSessions is set, with separate request ids', async () => {
    await secretOf('/shared/mcp', 'ada', 'ada')
    stub.call = inReverse(2)
    const said = await Promise.all(['ada', undefined].map((token) => secretOf('/shared/mcp', token, `${token}`)))
    expect(said).toEqual(['the secret of ada', 'the secret of undefined'])
    expect(new Set(callsOf(stub).map(({ session }) => session)).size).toBe(1)
    expect(new Set(callsOf(stub).map(({ id }) => id)).size).toBe(3)
  })

  test.each([
    [404, '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No session"}}'],
    [400, '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No session"}}'],
    [400, '{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"No session"}}'],
    [400, 'Invalid session ID'],
    [401, 'Unauthorized'],
    [403, 'The session is of another user'],
    [403, '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"The session is of another user"}}'],
  ])(
    'a session that the upstream has deleted is replaced once, when the upstream answers %i %s',
    async (status, body) => {
      await secretOf('/mcp', 'ada', 'ada')
      stub.unknown = { status, body }
      stub.sessions.clear()
      expect(await secretOf('/mcp', 'ada', 'ada')).toBe('the secret of ada')
      stub.requests.length = 0
      stub.sessions.add = () => stub.sessions
      try {
        stub.sessions.clear()
        await expect(secretOf('/mcp', 'ada', 'ada')).rejects.toMatchObject({ code: -32603 })
        expect(callsOf(stub).length).toBe(2)
      } finally {
        Reflect.deleteProperty(stub.sessions, 'add')
      }
    },
  )

  test.each([401, 403])('a session in which the upstream refuses a request with %i stays in use', async (status) => {
    await secretOf('/mcp', 'ada', 'ada')
    const begun = callsOf(stub).at(-1)?.session
    stub.requests.length = 0
    stub.call = (_, response) => response.writeHead(status, { 'Content-Type': 'text/plain' }).end('Not you')
    await expect(secretOf('/mcp', 'ada', 'ada')).rejects.toMatchObject({ code: -32603 })
    const [first, second, ...others] = callsOf(stub).map(({ session }) => session)
    expect([first, others]).toEqual([begun, []])
    expect(second).not.toBe(begun)
    stub.call = answerAsAsked
    await secretOf('/mcp', 'ada', 'ada')
    expect(callsOf(stub).at(-1)?.session).toBe(begun)
    await expect.poll(() => stub.sessions.has(second ?? '')).toBe(false)
  })

  test.each([401, 403, 404])(
    'a call that the upstream answers with %i is sent once, and its session stays in use',
    async (status) => {
      await secretOf('/mcp', 'ada', 'ada')
      const begun = callsOf(stub).at(-1)?.session
      stub.requests.length = 0
      stub.call = ({ id, method }, response) =>
        method === 'ping'
          ? sendJson(response, { jsonrpc: '2.0', id, result: {} })
          : sendJson(response, { jsonrpc: '2.0', id, error: { code: -32000, message: 'Charged, no receipt' } }, status)
      await expect(secretOf('/mcp', 'ada', 'ada')).rejects.toMatchObject({ message: 'Charged, no receipt' })
      expect(callsOf(stub).length).toBe(1)
      stub.call = answerAsAsked
      await secretOf('/mcp', 'ada', 'ada')
      expect(callsOf(stub).at(-1)?.session).toBe(begun)
    },
  )

  test.each([401, 403, 404])(
    'a session that the upstream has deleted is replaced, when it answers %i with the id of the request',
    async (status) => {
      await secretOf('/mcp', 'ada', 'ada')
      const deleted = callsOf(stub).at(-1)?.session
      stub.call = (request, response) =>
        request.session === deleted
          ? sendJson(
              response,
              { jsonrpc: '2.0', id: request.id, error: { code: -32600, message: 'No session' } },
              status,
            )
          : answerAsAsked(request, response)
      expect(await secretOf('/mcp', 'ada', 'ada')).toBe('the secret of ada')
      expect(callsOf(stub).at(-1)?.session).not.toBe(deleted)
    },
  )

  test('a session in which the upstream refuses a request with 400 stays in use', async () => {
    await secretOf('/mcp', 'ada', 'ada')
    const begun = callsOf(stub).at(-1)?.session
    stub.requests.length = 0
    stub.call = ({ id }, response) =>
      sendJson(response, { jsonrpc: '2.0', id, error: { code: -32602, message: 'Not so' } }, 400)
    await expect(secretOf('/mcp', 'ada', 'ada')).rejects.toMatchObject({ code: -32602, message: 'Not so' })
    expect(callsOf(stub).map(({ session }) => session)).toEqual([begun])
  })
})

test('the proxy resumes a stream that ends after a ping, once the ping is answered', async () => {
  let call: StubRequest | undefined
  const pinged = Promise.withResolvers<unknown>()
  stub.call = async (request, response) => {
    if (request.method === 'tools/call') {
      call = request
      const ping = JSON.stringify({ jsonrpc: '2.0', id: 'ping', method: 'ping' })
      response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      return response.end(`retry: 10\nid: one\ndata: ${ping}\n\n`)
    }
    if (request.http === 'POST') {
      pinged.resolve(request.body)
      return response.writeHead(202).end()
    }
    expect(await pinged.promise).toEqual({ jsonrpc: '2.0', id: 'ping', result: {} })
    const late = JSON.stringify({ jsonrpc: '2.0', id: call?.id, result: textResult('late') })
    response.writeHead(200, { 'Content-Type': 'text/event-stream' }).end(`id: two\ndata: ${late}\n\n`)
  }
  expect(await secretOf('/mcp', 'ada', 'ada')).toBe('late')
  const resumed = stub.requests.filter(({ http }) => http === 'GET')
  expect(resumed.map(({ session, headers }) => [session, headers['last-event-id'], headers['x-key']])).toEqual([
    [call?.session, 'one', 'secret'],
  ])
})

test.each([
  ['2026-07-28', 'hangs up'],
  ['2025-11-25', 'cancels'],
])('the proxy sends notifications/cancelled when a caller of %s %s', async (revision) => {
  const arrived = Promise.withResolvers<StubRequest>()
  stub.call = (request) => arrived.resolve(request)
  await using client = await at('/mcp', 'ada', revision)
  const stop = new AbortController()
  const { signal } = stop
  const called = client.request('tools/call', { name: 'secret_of', arguments: { who: 'ada' } }, { signal })
  const ended = called.catch((thrown: unknown) => thrown)
  const { id, session } = await arrived.promise
  stop.abort()
  await ended
  const cancelled = () => stub.requests.filter(({ method }) => method === 'notifications/cancelled')
  await expect.poll(cancelled, { timeout: 10_000 }).toMatchObject([{ session, params: { requestId: id } }])
})

test('the configured headers are sent, and never replace headers of the protocol', async () => {
  await secretOf('/mcp', 'ada', 'ada')
  const [call] = callsOf(stub)
  expect(call?.headers).toMatchObject({ 'x-key': 'secret', 'x-name': 'ada' })
  expect(stub.sessions.has(call?.session ?? '')).toBe(true)
})

/** Calls a tool with a plain POST, for what only HTTP shows. */
async function postCall(path: string, token: string | undefined, name: string): Promise<Response> {
  return fetch(new URL(path, server.url), {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': 'tools/call',
      'Mcp-Name': name,
      ...(token && { Authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: {
        name,
        arguments: { who: 'x' },
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    }),
  })
}

describe('an error for a response with an error status and no message for the request', () => {
  const host = () => new URL(stub.url).host
  const check = ': check what "headers" of proxy() returns for this caller'
  test.each([
    [400, '', {}],
    [401, check, {}],
    [403, check, {}],
    [429, '', { retryAfter: 7 }],
  ])('names the status %i, and keeps Retry-After of 429', async (status, advice, data) => {
    stub.call = (_, response) =>
      response.writeHead(status, { 'Content-Type': 'text/plain', 'Retry-After': '7' }).end('The quota is used up')
    const response = await postCall('/mcp', 'ada', 'secret_of')
    expect([response.status, response.headers.get('Retry-After')]).toEqual([503, status === 429 ? '7' : null])
    expect(((await response.json()) as Json).error).toMatchObject({
      message: `The server at ${host()} refuses the request with HTTP ${status}${advice}`,
      data: { reason: `HTTP ${status}`, ...data },
    })
  })

  test('keeps Retry-After of 503', async () => {
    stub.call = (_, response) => response.writeHead(503, { 'Retry-After': '7' }).end('Maintenance')
    const response = await postCall('/mcp', 'ada', 'secret_of')
    expect([response.status, response.headers.get('Retry-After')]).toEqual([503, '7'])
    expect(((await response.json()) as Json).error).toMatchObject({
      message: `The server at ${host()} does not answer`,
      data: { reason: 'HTTP 503', retryAfter: 7 },
    })
  })

  test('names the status of a response with the id of another request', async () => {
    stub.call = (_, response) =>
      sendJson(response, { jsonrpc: '2.0', id: 'server-error', error: { code: -32600, message: 'No' } }, 401)
    await expect(secretOf('/mcp', 'ada', 'ada')).rejects.toMatchObject({ data: { reason: 'HTTP 401' } })
  })

  test.each(['tools/call', 'server/discover'])(
    'names the status of an upstream without sessions: %s',
    async (method) => {
      const refusing = scripted({
        [method]: () => new Response('The quota is used up', { status: 429, headers: { 'Retry-After': '7' } }),
      })
      const upstream = newServer().use(nodeProxy('https://weather.example/mcp', refusing.fetch))
      expect(await refusal(upstream, 'tools/call', { name: 'forecast' })).toMatchObject({
        kind: 'unavailable',
        message: 'The server at weather.example refuses the request with HTTP 429',
        headers: { 'Retry-After': '7' },
      })
    },
  )
})

test.each([
  ['0', true],
  ['86400', true],
  ['Wed, 21 Oct 2026 07:28:00 GMT', true],
  ['86401', false],
  ['999999999', false],
  ['-1', false],
  ['1.5', false],
  ['soon', false],
  ['2026-10-21', false],
  ['Wed, 21 Oct 2026 07:28:00 GMT; see https://evil.example', false],
  ['Wed, 41 Oct 2026 07:28:00 GMT', false],
])(
  'Retry-After of an upstream is passed on if it is a date, or seconds of a day at most: %s',
  async (value, isKept) => {
    for (const status of [429, 503]) {
      const answer = () => new Response('No', { status, headers: { 'Retry-After': value } })
      const upstream = newServer().use(nodeProxy('https://u.example/mcp', scripted({ 'tools/call': answer }).fetch))
      const { headers, data } = await refusal(upstream, 'tools/call', { name: 'x' })
      expect(headers).toEqual(isKept ? { 'Retry-After': value } : undefined)
      expect(data).toEqual({
        reason: `HTTP ${status}`,
        ...(isKept && /^\d+$/.test(value) && { retryAfter: Number(value) }),
      })
    }
  },
)

describe('a response', () => {
  const foreign = (id: unknown) => ({ jsonrpc: '2.0', id, result: textResult('the secret of somebody else') })
  const stream = (response: ServerResponse, ...messages: unknown[]) =>
    response
      .writeHead(200, { 'Content-Type': 'text/event-stream' })
      .end(messages.map((message) => `data: ${JSON.stringify(message)}\n\n`).join(''))

  test.each<[string, (request: StubRequest) => unknown]>([
    ['another id', () => foreign('1')],
    ['a number that reads like it', ({ id }) => foreign(Number(`${id}`.replace(/\D/g, '').slice(-3)))],
    ['no id', () => ({ jsonrpc: '2.0', result: textResult('the secret of somebody else') })],
    ['null for an id', () => foreign(null)],
    [
      'an id that is another request’s, as an error',
      () => ({ ...foreign('1'), result: undefined, error: { code: -32602, message: 'the secret of somebody else' } }),
    ],
  ])('with %s is ignored, as JSON and on a stream', async (_, respond) => {
    for (const send of [sendJson, stream]) {
      stub.call = (request, response) => send(response, respond(request))
      await using client = await at('/mcp', 'ada')
      const refused = await client.callTool('secret_of', { who: 'ada' }).catch((error: Error) => error)
      expect(refused).toMatchObject({ code: -32603 })
      expect(JSON.stringify(refused)).not.toContain('secret')
    }
  })

  test('is found among other messages on a stream, and the first one with the id counts', async () => {
    stub.call = ({ id }, response) =>
      stream(
        response,
        foreign('1'),
        { jsonrpc: '2.0', method: 'ping', id },
        { ...foreign(id), result: textResult('mine') },
        foreign(id),
      )
    expect(await secretOf('/mcp', 'ada', 'ada')).toBe('mine')
  })

  test.each([
    ['a task', { resultType: 'task', task: { taskId: '1' } }],
    ['something unknown', { resultType: 'surprise' }],
    [
      'questions',
      {
        resultType: 'input_required',
        inputRequests: {
          a: {
            method: 'elicitation/create',
            params: { mode: 'url', url: 'https://evil.example/login', message: 'Sign in' },
          },
        },
      },
    ],
    ['no result', { content: 'x' }],
  ])('that is %s is refused', async (_, result) => {
    stub.call = ({ id }, response) => sendJson(response, { jsonrpc: '2.0', id, result })
    await using client = await at('/mcp', 'ada')
    await expect(client.callTool('secret_of', { who: 'ada' })).rejects.toMatchObject({ code: -32603 })
  })

  test('loses members that results of its method do not have', async () => {
    const result = { ...textResult('hi'), structuredContent: { a: 1 }, task: { taskId: '1' }, inputRequests: {}, x: 1 }
    stub.call = ({ id }, response) => sendJson(response, { jsonrpc: '2.0', id, result })
    await using client = await at('/mcp', 'ada')
    const { _meta, ...answered } = await client.callTool('secret_of', { who: 'ada' })
    expect(answered).toEqual({ resultType: 'complete', ...textResult('hi'), structuredContent: { a: 1 } })
  })
})

describe('scopes', () => {
  const status = async (path: string, token: string | undefined, name: string) => {
    const response = await postCall(path, token, name)
    await response.body?.cancel()
    return [response.status, /scope="([^"]*)"/.exec(response.headers.get('WWW-Authenticate') ?? '')?.[1]]
  }

  test('a proxy without scopes is listed by findUnscoped(), and requireScopesEverywhere refuses to start', async () => {
    const problems = (await (await fetch(new URL('/problems', server.url))).json()) as Json
    expect(problems).toMatchObject({
      unscoped: [`the proxy of "${stub.url}"`],
      strict: `These entries have no scopes: the proxy of "${stub.url}". Give each its scopes, or scopes: [] for every caller that auth accepts`,
      scopes: `proxy("https://weather.example/mcp") has the scopes "read": write a list, as in scopes: ['weather:read'], or a function`,
    })
  })

  test('given as a list apply to all entries, and given as a function to each tool', async () => {
    expect(await status('/scoped/mcp', undefined, 'all_secret_of')).toEqual([401, 'read'])
    expect(await status('/scoped/mcp', 'ada', 'all_secret_of')).toEqual([403, 'read'])
    expect(await status('/scoped/mcp', 'ada+read', 'all_secret_of')).toEqual([200, undefined])
    expect(await status('/scoped/mcp', 'ada+read', 'in_each_secret_of')).toEqual([403, 'read write'])
    expect(await status('/scoped/mcp', 'ada+write', 'in_each_secret_of')).toEqual([200, undefined])
    expect(await status('/scoped/mcp', undefined, 'in_each_other')).toEqual([200, undefined])
  })

  test('decide which tools a caller can list', async () => {
    const listed = async (token?: string) => {
      await using client = await at('/scoped/mcp', token)
      return ((await client.request('tools/list')).tools as Json[]).map(({ name }) => name)
    }
    expect(await listed()).toEqual(['in_each_other'])
    expect(await listed('ada+read')).toEqual(['all_secret_of', 'all_other', 'in_each_other'])
    expect(await listed('ada+write')).toEqual(['in_each_secret_of', 'in_each_other'])
  })

  test('are those of the upstream that has the entry, when several could have it', async () => {
    const read = async (token?: string) => {
      await using client = await at('/ambiguous/mcp', token)
      return client.request('resources/read', { uri: 'about:stub' })
    }
    expect(await status('/ambiguous/mcp', 'ada+write', 'secret_of')).toEqual([200, undefined])
    expect((await status('/ambiguous/mcp', 'ada', 'secret_of'))[0]).toBe(403)
    expect(await read('ada+read')).toMatchObject({ contents: [{ text: 'About' }] })
    other.requests.length = 0
    expect(await read('ada+read')).toMatchObject({ contents: [{ text: 'About' }] })
    expect(other.requests).toEqual([])
    await expect(read('ada')).rejects.toMatchObject({ message: 'Requires the scopes read' })
  })
})

test('the lists by which a call finds its upstream are not read by the next call of the same caller', async () => {
  const isCounted = ({ method = '' }: StubRequest) => /^(?:tools|resources)\//.test(method)
  const requested = async (who: string) => {
    for (const { requests } of [stub, other]) requests.length = 0
    await using client = await at('/ambiguous/mcp', `${who}+read+write`)
    await client.request('resources/read', { uri: 'about:stub' })
    await client.callTool('secret_of', { who })
    return [stub, other].map(({ requests }) => requests.filter(isCounted).map(({ method }) => method))
  }
  for (const who of ['kim', 'lee']) {
    expect(await requested(who)).toEqual([['resources/list', 'resources/read', 'tools/list', 'tools/call'], []])
    expect(await requested(who)).toEqual([['resources/read', 'tools/call'], []])
  }
})

test('proxy() refuses a plain http URL at startup, except of this machine', async () => {
  const problems = (await (await fetch(new URL('/problems', server.url))).json()) as Json
  const expected = (url: string) =>
    `proxy("${url}"): the URL of an upstream must be https, or http on localhost, as in "https://weather.example/mcp"`
  expect(problems).toMatchObject({
    http: expected('http://weather.example/mcp'),
    file: expected('file:///etc/passwd'),
    text: expected('weather.example'),
  })
})

test('proxy() refuses a URL with credentials, and timeouts of 0, at startup', async () => {
  const problems = (await (await fetch(new URL('/problems', server.url))).json()) as Json
  const positive = "must be at least 1 ms: milliseconds, or a string such as '2s', '10m', '1h' or '7d', not"
  expect(problems).toMatchObject({
    credentials: 'proxy(): the URL of the upstream at weather.example must have no credentials: send them by "headers"',
    timeout: `"timeout" of proxy() ${positive} 0`,
    attemptTimeout: `"attemptTimeout" of proxy() ${positive} "0.0s"`,
    listTimeout: `"listTimeout" of proxy() ${positive} "0ms"`,
  })
})

test('two concurrent callers of an upstream of the official SDK each get their own result', async () => {
  let waiting: (() => void)[] = []
  const upstream: Sdk = await startSdk(() => {
    const made = new McpServer({ name: 'sdk', version: '1.0.0' })
    made.registerTool('secret_of', { inputSchema: { who: z.string() } }, async ({ who }) => {
      await new Promise<void>((resolve) => {
        waiting.unshift(resolve)
        if (waiting.length < 2) return
        for (const go of waiting) go()
        waiting = []
      })
      return { content: [{ type: 'text', text: `the secret of ${who}` }] }
    })
    return made
  })
  const gateway = await startServer('test/compose/callers', { UPSTREAM: upstream.url, OTHER: other.url })
  try {
    for (const path of ['/mcp', '/shared/mcp']) {
      const secrets = ['ada', 'bob'].map(async (token) => {
        await using client = await connect(new URL(path, gateway.url), { revision: '2026-07-28', token, sse: false })
        return client.callTool('secret_of', { who: token })
      })
      expect(await Promise.all(secrets)).toMatchObject([
        textResult('the secret of ada'),
        textResult('the secret of bob'),
      ])
    }
  } finally {
    await gateway[Symbol.asyncDispose]()
    upstream.close()
  }
})

test.each(['about:stub', 'about:%73tub', 'About:stub', 'ABOUT:%73%74ub'])(
  "every spelling of a resource's URI requires its scopes: %s",
  async (uri) => {
    await using bob = await at('/guarded/mcp', 'bob')
    await expect(bob.request('resources/read', { uri })).rejects.toMatchObject({ status: 403 })
    expect(stub.requests.filter(({ method }) => method === 'resources/read')).toEqual([])
    await using ada = await at('/guarded/mcp', 'ada+read')
    await ada.request('resources/read', { uri })
    expect(stub.requests.find(({ method }) => method === 'resources/read')?.params.uri).toBe('about:stub')
  },
)

test('server/discover, whose response all callers share, contains no capabilities of a client', async () => {
  const upstream = scripted({ 'tools/call': { content: [] } })
  const server = newServer().use(nodeProxy('https://upstream.example/mcp', upstream.fetch))
  const capabilities = { elicitation: { form: {} }, experimental: { pad: { text: 'x'.repeat(60_000) } } }
  await result(server, 'tools/call', { name: 'x' }, { capabilities })
  const [discover] = upstream.requests.filter(({ method }) => method === 'server/discover')
  const { 'io.modelcontextprotocol/clientCapabilities': asked } = (discover?.params._meta ?? {}) as Json
  expect(asked).toEqual({})
})

describe('the requests of a batch read a list of an upstream', () => {
  type Listed = { id: number; result: { tools: { name: string }[] } }[]
  const batch = (method: string, count = 10) =>
    Array.from({ length: count }, (_, id) => ({ jsonrpc: '2.0', id, method }))

  test.each<[string, string | undefined, boolean]>([
    ['in a session', undefined, true],
    ['in a session of a principal', 'ada', true],
    ['without a session', undefined, false],
    ['without a session, of a principal', 'ada', false],
  ])('once, %s', async (_, token, inSession) => {
    const params = { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
    const initialize = { id: 0, method: 'initialize', params }
    const begun = inSession ? await postMessage(server.url, initialize, undefined, token) : undefined
    const session = begun?.headers.get('Mcp-Session-Id')
    const headers = {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      ...(session ? { 'Mcp-Session-Id': session } : { 'MCP-Protocol-Version': '2025-03-26' }),
      ...(token && { Authorization: `Bearer ${token}` }),
    }
    for (const reads of [1, 2]) {
      const response = await fetch(server.url, { method: 'POST', headers, body: JSON.stringify(batch('tools/list')) })
      const listed = (await response.json()) as Listed
      expect(listed).toHaveLength(10)
      for (const { result } of listed) expect(result.tools.map(({ name }) => name)).toEqual(['secret_of', 'other'])
      expect(stub.requests.filter(({ method }) => method === 'tools/list')).toHaveLength(reads)
    }
  })

  const tools = [{ name: 'a', inputSchema: { type: 'object' } }]
  const principalOf = (subject: string) => ({ issuer: 'https://i.example', subject, scopes: [], claims: {} })

  test('once, and each has entries of its own', async () => {
    const upstream = scripted({ 'tools/list': { tools } })
    const gateway = newServer().use(nodeProxy('https://u.example/mcp', upstream.fetch))
    gateway.intercept(async (_, next) => {
      const outcome = await next()
      if (outcome.type === 'result') for (const tool of outcome.result.tools as Json[]) tool.name += '!'
      return outcome
    })
    const post = {}
    const listed = await Promise.all([1, 2, 3].map(() => result(gateway, 'tools/list', {}, { post })))
    expect(listed.map((each) => (each.tools as Json[])[0]?.name)).toEqual(['a!', 'a!', 'a!'])
    expect(upstream.asked('tools/list')).toHaveLength(1)
  })

  test('once, and make the canonical spellings of its URIs once', async () => {
    const grouping = vi.spyOn(Map, 'groupBy')
    const uris = Array.from({ length: 4_000 }, (_, index) => `note://long/${'x'.repeat(20)}/${index}`)
    const upstreamOf = () =>
      scripted({
        'resources/list': { resources: uris.map((uri) => ({ uri, name: 'n' })) },
        'resources/templates/list': { resourceTemplates: [] },
      })
    const upstreams = [upstreamOf(), upstreamOf()]
    const gateway = newServer()
    for (const [index, { fetch }] of upstreams.entries())
      gateway.use(nodeProxy(`https://u${index}.example/mcp`, fetch, { prefix: `u${index}_` }))
    const post = {}
    for (let count = 0; count < 5; count += 1)
      await refusal(gateway, 'resources/read', { uri: `note://unknown/${count}` }, { post })
    expect(
      grouping.mock.calls.filter(([ids]: unknown[]) => Array.from(ids as string[]).length === uris.length),
    ).toHaveLength(2)
    for (const upstream of upstreams) expect(upstream.asked('resources/list')).toHaveLength(1)
    grouping.mockRestore()
  })

  test('once, also if the upstream fails', async () => {
    const upstream = scripted({ 'tools/list': () => new Response(null, { status: 400 }) })
    const gateway = newServer().use(nodeProxy('https://u.example/mcp', upstream.fetch))
    const post = {}
    for (let count = 0; count < 3; count += 1) {
      expect(await result(gateway, 'tools/list', {}, { post })).toMatchObject({ tools: [] })
    }
    expect(upstream.asked('tools/list')).toHaveLength(1)
  })

  test('for each set of headers, each principal and each client', async () => {
    const upstream = scripted({
      'tools/list': ({ headers }) => ({ tools: [{ ...tools[0], name: headers.get('X-Key') }] }),
    })
    const headers = ({ requestContext }: { requestContext: object }) => requestContext as Record<string, string>
    const gateway = newServer().use(nodeProxy('https://u.example/mcp', upstream.fetch, { headers }))
    const post = {}
    const callers = [
      { requestContext: { 'X-Key': 'one' } },
      { requestContext: { 'X-Key': 'two' } },
      { requestContext: { 'X-Key': 'two' }, principal: principalOf('ada') },
      { requestContext: { 'X-Key': 'two' }, principal: principalOf('bob') },
      { requestContext: { 'X-Key': 'two' }, capabilities: {} },
    ]
    const listed = await Promise.all(callers.map((caller) => result(gateway, 'tools/list', {}, { ...caller, post })))
    expect(listed.map((each) => (each.tools as Json[])[0]?.name)).toEqual(['one', 'two', 'two', 'two', 'two'])
    expect(upstream.asked('tools/list')).toHaveLength(5)
  })

  test('again, after the request that reads it was cancelled', async () => {
    const leaving = new AbortController()
    const begun = Promise.withResolvers<void>()
    const gone = Promise.withResolvers<never>()
    leaving.signal.addEventListener('abort', () => gone.reject(leaving.signal.reason))
    let count = 0
    const upstream = scripted({
      'tools/list': () => {
        begun.resolve()
        count += 1
        return count === 1 ? gone.promise : { tools }
      },
    })
    const gateway = newServer().use(nodeProxy('https://u.example/mcp', upstream.fetch))
    const post = {}
    const first = result(gateway, 'tools/list', {}, { post, signal: leaving.signal }).catch(() => 'cancelled')
    await begun.promise
    const others = [2, 3].map(() => result(gateway, 'tools/list', {}, { post }))
    leaving.abort()
    for (const each of others) expect(await each).toMatchObject({ tools })
    expect(await first).toBe('cancelled')
    expect(count).toBe(2)
  })

  test('again, if one of them has read it and needs a newer one', async () => {
    const upstream = scripted({
      'tools/list': { tools },
      'tools/call': ({ id }) =>
        upstream.asked('tools/call').length === 1 ? rpcError(id, -32020, 'Header mismatch', 400) : textResult('done'),
    })
    const gateway = newServer()
      .use(nodeProxy('https://u.example/mcp', upstream.fetch))
      .use(nodeProxy('https://v.example/mcp', scripted({ 'tools/list': { tools: [] } }).fetch))
    expect(await result(gateway, 'tools/call', { name: 'a' }, { post: {} })).toMatchObject(textResult('done'))
    expect(upstream.asked('tools/list')).toHaveLength(2)
  })
})
