/** Timeouts, retries and the circuit breaker of proxy(): requests that must not be repeated are sent once, whatever fails. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { HeadersContext } from '../../worker/declarations/upstream-options.ts'
import { connect } from '../../worker/testing/index.ts'
import { newServer, play, refusal, result, textOf } from '../engine/stage.ts'
import { startServer } from '../support/server.ts'
import { nodeProxy } from './node-proxy.ts'
import { type Answers, described, rpcError, type ScriptedRequest, scripted } from './scripted.ts'
import { type Stub, startStub, textResult } from './stub.ts'

type Resilience = NonNullable<Parameters<typeof nodeProxy>[3]>

const schema = { type: 'object' }
const tools = [
  { name: 'send', description: 'd', inputSchema: schema },
  { name: 'read', description: 'd', inputSchema: schema, annotations: { readOnlyHint: true } },
  { name: 'put', description: 'd', inputSchema: schema, annotations: { idempotentHint: true } },
]
const busy = (headers: Record<string, string> = {}, status = 503) => new Response(null, { status, headers })

/** Answers like `answer`, after failing this many times. */
const after = (failures: number, fail: () => Response, answer: Record<string, unknown>) => {
  let count = 0
  return () => (++count > failures ? answer : fail())
}

function behind(answers: Answers, resilience: Resilience = { retries: 2 }, timeoutMs = 60_000) {
  const upstream = scripted({ 'tools/list': { tools }, ...answers })
  const server = newServer().use(nodeProxy('https://u.example/mcp', upstream.fetch, { timeoutMs }, resilience))
  const called = (name: string) => upstream.asked('tools/call').filter(({ params }) => params.name === name).length
  return { upstream, server, called }
}
const down = () => busy()
const lost = () => {
  throw new Error('Network connection lost.')
}

/** No jitter: pauses are as long as they can be. */
beforeEach(() => {
  vi.spyOn(Math, 'random').mockReturnValue(0.05)
})
afterEach(() => {
  vi.restoreAllMocks()
})

describe('a call that fails is sent', () => {
  test.each([
    ['read', 'HTTP 503', () => busy()],
    ['put', 'HTTP 429', () => busy({}, 429)],
    ['read', 'HTTP 504', () => busy({}, 504)],
    ['read', 'a lost connection', lost],
  ])('again, if it may be repeated: %s after %s', async (name, _, fail) => {
    const { server, called } = behind({ 'tools/call': after(2, fail, textResult('done')) })
    await result(server, 'tools/list')
    expect(textOf(await result(server, 'tools/call', { name }))).toBe('done')
    expect(called(name)).toBe(3)
  })

  test.each([
    ['HTTP 503', () => busy()],
    ['HTTP 429', () => busy({ 'Retry-After': '0' }, 429)],
    ['a lost connection', lost],
  ])('once, if it must not be repeated: after %s', async (_, fail) => {
    const { server, called } = behind({ 'tools/call': fail })
    await result(server, 'tools/list')
    expect(await refusal(server, 'tools/call', { name: 'send' })).toMatchObject({ kind: 'unavailable' })
    expect(called('send')).toBe(1)
  })

  test('once, if the annotations of its tool are unknown', async () => {
    const { server, called } = behind({ 'tools/call': () => busy() })
    await refusal(server, 'tools/call', { name: 'read' })
    expect(called('read')).toBe(1)
  })

  test.each([400, 401, 404, 500])('once, if its failure is not temporary: HTTP %i', async (status) => {
    const { server, called } = behind({ 'tools/call': () => busy({}, status) })
    await result(server, 'tools/list')
    await refusal(server, 'tools/call', { name: 'read' })
    // 400 and 404 may mean that the upstream speaks another version: then one more request asks for it.
    expect(called('read')).toBe(1)
  })
})

test.each(['tools/list', 'resources/list', 'prompts/list'])('%s is sent again', async (method) => {
  const member = method === 'tools/list' ? 'tools' : method.split('/')[0]
  const { server, upstream } = behind({ [method]: after(1, () => busy(), { [`${member}`]: [] }) })
  await result(server, method)
  expect(upstream.asked(method)).toHaveLength(2)
})

test('a handshake is sent again before a call that must not be repeated', async () => {
  const { server, upstream, called } = behind({
    'server/discover': after(2, () => busy(), { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }),
    'tools/call': textResult('done'),
  })
  expect(textOf(await result(server, 'tools/call', { name: 'send' }))).toBe('done')
  expect(upstream.asked('server/discover')).toHaveLength(3)
  expect(called('send')).toBe(1)
})

describe('an HTTP status with a JSON-RPC error', () => {
  const failing =
    (status: number, headers: Record<string, string> = {}) =>
    ({ id }: { id: unknown }) =>
      Response.json(
        { jsonrpc: '2.0', id, error: { code: -32603, message: 'Busy', data: { size: 1 } } },
        { status, headers },
      )

  test('is an answer: HTTP 500', async () => {
    const circuitBreaker = { failures: 2, pauseMs: 60_000 }
    const { server, called } = behind({ 'tools/call': failing(500) }, { circuitBreaker })
    await result(server, 'tools/list')
    for (let count = 1; count <= 3; count += 1) {
      const problem = { kind: 'internal_error', message: 'Busy', data: { size: 1 } }
      expect(await refusal(server, 'tools/call', { name: 'read' })).toMatchObject(problem)
      expect(called('read')).toBe(count)
    }
  })

  test.each(['Application/JSON', 'application/json;charset=utf-8', 'application/problem+json', 'text/plain'])(
    'is an answer only if it is JSON: %s',
    async (type) => {
      const fail = ({ id }: ScriptedRequest) =>
        new Response(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32603, message: 'Busy' } }), {
          status: 500,
          headers: { 'Content-Type': type },
        })
      const { server } = behind({ 'tools/call': fail })
      const message = /^application\/json/i.test(type) ? 'Busy' : 'The server at u.example does not answer'
      expect(await refusal(server, 'tools/call', { name: 'read' })).toMatchObject({ message })
    },
  )

  test.each([429, 502, 503])('is a temporary failure: HTTP %i', async (status) => {
    const answers = [failing(status), failing(status)]
    const { server, called } = behind({
      'tools/call': (request) => answers.shift()?.(request) ?? textResult('done'),
    })
    await result(server, 'tools/list')
    expect(textOf(await result(server, 'tools/call', { name: 'read' }))).toBe('done')
    expect(called('read')).toBe(3)
  })

  test.each([429, 503])('keeps the status and Retry-After: HTTP %i', async (status) => {
    const { server, called } = behind({ 'tools/call': failing(status, { 'Retry-After': '3600' }) })
    await result(server, 'tools/list')
    expect(await refusal(server, 'tools/call', { name: 'read' })).toMatchObject({
      kind: 'unavailable',
      message: 'Busy',
      data: { reason: `HTTP ${status}`, retryAfter: 3600 },
      headers: { 'Retry-After': '3600' },
    })
    expect(called('read')).toBe(1)
  })

  test('is counted by the circuit breaker: HTTP 503', async () => {
    const circuitBreaker = { failures: 2, pauseMs: 60_000 }
    const { server, called } = behind({ 'tools/call': failing(503) }, { retries: 0, circuitBreaker })
    await result(server, 'tools/list')
    for (let count = 0; count < 3; count += 1) await refusal(server, 'tools/call', { name: 'send' })
    expect(called('send')).toBe(2)
  })
})

describe('Retry-After', () => {
  test('is waited for', async () => {
    const { server } = behind({ 'tools/call': after(1, () => busy({ 'Retry-After': '1' }), textResult('done')) })
    await result(server, 'tools/list')
    const startMs = performance.now()
    await result(server, 'tools/call', { name: 'read' })
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(990)
  })

  test('beyond the timeout ends the call at once, and is passed on', async () => {
    const { server, called } = behind({ 'tools/call': () => busy({ 'Retry-After': '3600' }) })
    await result(server, 'tools/list')
    expect(await refusal(server, 'tools/call', { name: 'read' })).toMatchObject({
      data: { reason: 'HTTP 503', retryAfter: 3600 },
      headers: { 'Retry-After': '3600' },
    })
    expect(called('read')).toBe(1)
  })
})

test('cancellation ends the pause before a retry', async () => {
  const stop = new AbortController()
  const { server, called } = behind({
    'tools/call': () => {
      setImmediate(() => stop.abort(new Error('Cancelled')))
      return busy({ 'Retry-After': '50' })
    },
  })
  await result(server, 'tools/list')
  await expect(result(server, 'tools/call', { name: 'read' }, { signal: stop.signal })).rejects.toThrow('Cancelled')
  expect(called('read')).toBe(1)
})

test('an attempt without a response in time is given up, and another one is made', async () => {
  let count = 0
  const hangs = ({ signal }: { signal: AbortSignal | null }) => {
    count += 1
    if (count > 1) return textResult('done')
    return new Promise<Response>((_, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason))
    })
  }
  const { server, called } = behind({ 'tools/call': hangs }, { retries: 1, attemptTimeoutMs: 50 })
  await result(server, 'tools/list')
  expect(textOf(await result(server, 'tools/call', { name: 'read' }))).toBe('done')
  expect(called('read')).toBe(2)
  count = 0
  expect(await refusal(server, 'tools/call', { name: 'send' })).toMatchObject({ kind: 'unavailable' })
  expect(called('send')).toBe(1)
})

describe('the circuit breaker', () => {
  const circuitBreaker = { failures: 3, pauseMs: 60_000 }

  test('refuses calls after consecutive failures, lets one try after the pause, and closes', async () => {
    let isDown = true
    const { server, called } = behind(
      { 'tools/call': () => (isDown ? busy() : textResult('done')) },
      { retries: 0, circuitBreaker },
    )
    await result(server, 'tools/list')
    const now = vi.spyOn(Date, 'now')
    const startMs = 1_800_000_000_000
    now.mockReturnValue(startMs)
    for (let count = 0; count < 3; count += 1) await refusal(server, 'tools/call', { name: 'send' })
    now.mockReturnValue(startMs + 20_000)
    expect(await refusal(server, 'tools/call', { name: 'send' })).toMatchObject({
      kind: 'unavailable',
      message: 'The server at u.example is unavailable: its last requests failed. Retry in 40 s',
      data: { reason: 'circuit_breaker', retryAfter: 40 },
      headers: { 'Retry-After': '40' },
    })
    expect(called('send')).toBe(3)

    now.mockReturnValue(startMs + 60_000)
    await refusal(server, 'tools/call', { name: 'send' })
    expect(called('send')).toBe(4)
    // The attempt failed: the next pause begins.
    await refusal(server, 'tools/call', { name: 'send' })
    expect(called('send')).toBe(4)

    isDown = false
    now.mockReturnValue(startMs + 120_000)
    expect(textOf(await result(server, 'tools/call', { name: 'send' }))).toBe('done')
    expect(textOf(await result(server, 'tools/call', { name: 'send' }))).toBe('done')
  })

  test('counts no refusals of the request, no errors of tools and no cancelled calls', async () => {
    const stop = new AbortController()
    const answers = [
      () => busy({}, 429),
      () => busy({}, 403),
      () => ({ content: [], isError: true }),
      () => {
        stop.abort(new Error('Cancelled'))
        throw stop.signal.reason
      },
    ]
    const { server, called } = behind(
      { 'tools/call': () => (answers.shift() ?? (() => textResult('done')))() },
      { retries: 0, circuitBreaker: { failures: 1, pauseMs: 60_000 } },
    )
    await result(server, 'tools/list')
    await refusal(server, 'tools/call', { name: 'send' })
    await refusal(server, 'tools/call', { name: 'send' })
    await result(server, 'tools/call', { name: 'send' })
    await result(server, 'tools/call', { name: 'send' }, { signal: stop.signal }).catch(() => {})
    expect(textOf(await result(server, 'tools/call', { name: 'send' }))).toBe('done')
    expect(called('send')).toBe(5)
  })

  describe.each([
    ['an error of the upstream', ({ id }: ScriptedRequest) => rpcError(id, -32602, 'No such city')],
    ['a refusal', () => busy({}, 403)],
    ['a rate limit', () => busy({}, 429)],
    ['an invalid result', () => ({ content: 'none' })],
    ...[
      ['an error without a message', { error: { code: 5 } }],
      ['an error whose code is no integer', { error: { code: 1.5, message: null, data: [] } }],
      ['a result that is null', { result: null }],
      ['a result that is a list', { result: [] }],
    ].map(([what, body]): [string, (request: ScriptedRequest) => Response] => [
      `${what}`,
      ({ id }) => Response.json({ jsonrpc: '2.0', id, ...(body as object) }),
    ]),
  ])('counts as an answer: %s', (_, answer) => {
    test('between failures, which are not consecutive then', async () => {
      const answers = [down, answer, down, answer, down, answer]
      const { server, called } = behind(
        { 'tools/call': (request) => answers.shift()?.(request) ?? textResult('done') },
        { retries: 0, circuitBreaker: { failures: 2, pauseMs: 60_000 } },
      )
      await result(server, 'tools/list')
      for (let count = 0; count < 6; count += 1) await refusal(server, 'tools/call', { name: 'send' })
      expect(textOf(await result(server, 'tools/call', { name: 'send' }))).toBe('done')
      expect(called('send')).toBe(7)
    })

    test('after the pause, and closes it', async () => {
      const answers = [down, answer]
      const { server } = behind(
        { 'tools/call': (request) => answers.shift()?.(request) ?? textResult('done') },
        { retries: 0, circuitBreaker: { failures: 1, pauseMs: 60_000 } },
      )
      await result(server, 'tools/list')
      await refusal(server, 'tools/call', { name: 'send' })
      const now = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 60_000)
      await refusal(server, 'tools/call', { name: 'send' })
      expect(textOf(await result(server, 'tools/call', { name: 'send' }))).toBe('done')
      now.mockRestore()
    })
  })

  test('is not closed by a call that was cancelled', async () => {
    const stop = new AbortController()
    const cancel = () => {
      stop.abort(new Error('Cancelled'))
      throw stop.signal.reason
    }
    const answers = [down, cancel]
    const { server } = behind(
      { 'tools/call': () => (answers.shift() ?? down)() },
      { retries: 0, circuitBreaker: { failures: 2, pauseMs: 60_000 } },
    )
    await result(server, 'tools/list')
    await refusal(server, 'tools/call', { name: 'send' })
    await result(server, 'tools/call', { name: 'send' }, { signal: stop.signal }).catch(() => {})
    await refusal(server, 'tools/call', { name: 'send' })
    expect(await refusal(server, 'tools/call', { name: 'send' })).toMatchObject({ data: { reason: 'circuit_breaker' } })
  })

  const names: Record<string, unknown> = {
    'a line break': { 'X-Key': 'a\nb' },
    'a NUL': { 'X-Key': 'a\0b' },
    'a character beyond Latin-1': { 'X-Key': '\u{1f511}' },
    'a name with a blank': { 'X Key': 'a' },
    'an object': { 'X-Key': {} },
  }
  test.each(Object.keys(names))('counts no headers that cannot be sent, for one caller: %s', async (what) => {
    const upstream = scripted({ 'tools/list': { tools }, 'tools/call': textResult('done') })
    const headers = ({ principal }: { principal?: { subject: string } | undefined }) =>
      (principal?.subject === 'mallory' ? names[what] : { 'X-Key': 'good' }) as Record<string, string>
    const resilience = { retries: 2, circuitBreaker: { failures: 1, pauseMs: 60_000 } }
    const server = newServer().use(nodeProxy('https://u.example/mcp', upstream.fetch, { headers }, resilience))
    const as = (subject: string) => ({
      principal: { issuer: 'https://names.example', subject, scopes: [], claims: {} },
    })
    for (let count = 0; count < 2; count += 1) {
      await expect(result(server, 'tools/call', { name: 'read' }, as('mallory'))).rejects.toThrow(
        /^"headers" of the proxy of "https:\/\/u\.example\/mcp" failed: it returned .*X.Key.*: return /,
      )
    }
    expect(upstream.requests).toEqual([])
    expect(textOf(await result(server, 'tools/call', { name: 'read' }, as('alice')))).toBe('done')
  })

  test('counts no call that exceeds its timeout after its response started', async () => {
    const timeoutMs = 3_599_999
    const realTimeout = AbortSignal.timeout.bind(AbortSignal)
    let over = new AbortController()
    vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
      if (ms !== timeoutMs) return realTimeout(ms)
      over = new AbortController()
      return over.signal
    })
    const expire = () => over.abort(new DOMException('The operation timed out', 'TimeoutError'))
    const slow = (status: number) => () => {
      setTimeout(expire)
      return new Response(new ReadableStream(), { status, headers: { 'Content-Type': 'text/event-stream' } })
    }
    const silent = ({ signal }: ScriptedRequest) =>
      new Promise<Response>((_, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason))
        setTimeout(expire)
      })
    const answers = [slow(200), slow(200), silent]
    const { server, called } = behind(
      { 'tools/call': (request) => (answers.shift() ?? (() => textResult('done')))(request) },
      { retries: 0, circuitBreaker: { failures: 1, pauseMs: 60_000 } },
      timeoutMs,
    )
    for (let count = 0; count < 2; count += 1) {
      expect(await refusal(server, 'tools/call', { name: 'send' })).toMatchObject({
        kind: 'unavailable',
        message: 'The server at u.example did not complete its response in time',
        data: { reason: 'timed out' },
      })
    }
    expect(await refusal(server, 'tools/call', { name: 'send' })).toMatchObject({
      message: 'The server at u.example does not answer',
      data: { reason: 'timed out' },
    })
    expect(await refusal(server, 'tools/call', { name: 'send' })).toMatchObject({ data: { reason: 'circuit_breaker' } })
    expect(called('send')).toBe(3)
  })

  type Upstream = ReturnType<typeof scripted>
  type Sending = (binding: Upstream, url: string, init: RequestInit) => Promise<Response>
  test.each<[string, Sending]>([
    ['throws', (binding, url, init) => binding.fetch(url, init)],
    ['rejects', async (binding, url, init) => binding.fetch(url, init)],
  ])('counts no failure of the option fetch before it sends anything: it %s', async (_, send) => {
    const upstream = scripted({ 'tools/list': { tools }, 'tools/call': textResult('done') })
    let binding: Upstream | undefined
    const fetch = (url: string, init: RequestInit) => send(binding as Upstream, url, init)
    const resilience = { retries: 2, circuitBreaker: { failures: 1, pauseMs: 60_000 } }
    const server = newServer().use(nodeProxy('https://u.example/mcp', fetch, {}, resilience))
    await expect(result(server, 'tools/call', { name: 'read' })).rejects.toThrow(
      /^"fetch" of the proxy of "https:\/\/u\.example\/mcp" failed: Cannot read properties of undefined/,
    )
    const { reported, outcome } = await play(server, 'tools/list', {})
    expect(outcome).toMatchObject({ result: { tools: [] } })
    expect(reported.map(String)).toEqual([
      expect.stringContaining('"fetch" of the proxy of "https://u.example/mcp" failed'),
    ])
    binding = upstream
    expect(textOf(await result(server, 'tools/call', { name: 'read' }))).toBe('done')
  })

  test.each([
    ['a connection', Object.assign(new Error('Network connection lost.'), { remote: true, retryable: true })],
    ['another Worker', Object.assign(new TypeError('x is not a function'), { remote: true })],
    ['fetch of Node.js', new TypeError('fetch failed', { cause: new Error('ECONNREFUSED') })],
  ])('counts a rejection by %s', async (_, problem) => {
    const fetch = () => Promise.reject(problem)
    const resilience = { retries: 0, circuitBreaker: { failures: 1, pauseMs: 60_000 } }
    const server = newServer().use(nodeProxy('https://u.example/mcp', fetch, {}, resilience))
    const call = () => refusal(server, 'tools/call', { name: 'read' })
    expect(await call()).toMatchObject({ kind: 'unavailable', data: { reason: 'no response' } })
    expect(await call()).toMatchObject({ kind: 'unavailable', data: { reason: 'circuit_breaker' } })
  })

  describe('of several callers', () => {
    const as = (subject: string) => ({
      principal: { issuer: 'https://names.example', subject, scopes: [], claims: {} },
    })
    const failingFor = (
      fails: (key: string | null) => boolean,
      key = (subject: string | undefined) => `${subject}`,
    ) => {
      const upstream = scripted({
        'tools/call': ({ headers }) => (fails(headers.get('X-Key')) ? busy() : textResult('done')),
      })
      const headers = ({ principal }: HeadersContext) => ({ 'X-Key': key(principal?.subject) })
      const server = newServer().use(
        nodeProxy('https://u.example/mcp', upstream.fetch, { headers }, { circuitBreaker }),
      )
      const call = (subject: string, setting = {}) =>
        play(server, 'tools/call', { name: 'send' }, { ...as(subject), ...setting }).then(
          () => 'done',
          ({ data }) => (data?.reason === 'circuit_breaker' ? data.reason : 'failed'),
        )
      return { upstream, call }
    }

    test('opens for the one whose requests fail, and for no other', async () => {
      const { upstream, call } = failingFor((key) => key === 'mallory')
      for (let count = 0; count < 5; count += 1) await call('mallory')
      expect(await call('mallory')).toBe('circuit_breaker')
      expect(upstream.asked('tools/call')).toHaveLength(3)
      expect(await call('ada')).toBe('done')
      expect(await call('mallory')).toBe('circuit_breaker')
      expect(upstream.asked('tools/call')).toHaveLength(4)
    })

    test('opens for all when different ones fail in a row, until one succeeds', async () => {
      let isDown = true
      const { call } = failingFor(() => isDown)
      const now = vi.spyOn(Date, 'now')
      const startMs = 1_800_000_000_000
      now.mockReturnValue(startMs)
      for (const subject of ['ada', 'bob', 'bob', 'eve']) expect(await call(subject)).toBe('failed')
      for (const subject of ['ada', 'new']) expect(await call(subject)).toBe('circuit_breaker')
      now.mockReturnValue(startMs + 60_000)
      for (const subject of ['ada', 'bob', 'eve']) {
        expect(await call(subject)).toBe('failed')
        expect(await call(subject)).toBe('circuit_breaker')
      }
      expect(await call('new')).toBe('circuit_breaker')
      isDown = false
      now.mockReturnValue(startMs + 120_000)
      for (const subject of ['bob', 'new', 'ada']) expect(await call(subject)).toBe('done')
    })

    test.each([0, 30_000])('lets others try after a caller whose request fails after %i ms', async (tookMs) => {
      let isDown = true
      const { upstream, call } = failingFor((key) => isDown || key === 'mallory')
      const now = vi.spyOn(Date, 'now')
      const startMs = 1_800_000_000_000
      now.mockReturnValue(startMs)
      for (const subject of ['ada', 'bob', 'eve']) await call(subject)
      isDown = false
      now.mockReturnValue(startMs + 60_000)
      expect(await call('mallory')).toBe('failed')
      now.mockReturnValue(startMs + 60_000 + tookMs)
      expect(await call('mallory')).toBe('circuit_breaker')
      expect(upstream.asked('tools/call')).toHaveLength(4)
      expect(await call('ada')).toBe('done')
    })

    test('lets others try after a caller who cancels', async () => {
      let isDown = true
      const stop = new AbortController()
      const { call } = failingFor((key) => {
        if (key !== 'mallory') return isDown
        stop.abort(new Error('Cancelled'))
        throw stop.signal.reason
      })
      const now = vi.spyOn(Date, 'now')
      const startMs = 1_800_000_000_000
      now.mockReturnValue(startMs)
      for (const subject of ['ada', 'bob', 'eve']) await call(subject)
      isDown = false
      now.mockReturnValue(startMs + 60_000)
      await call('mallory', { signal: stop.signal }).catch(() => {})
      expect(await call('mallory')).toBe('circuit_breaker')
      expect(await call('ada')).toBe('done')
    })

    test('does not open for all while others succeed', async () => {
      const { call } = failingFor((key) => key?.startsWith('bad') ?? false)
      for (let count = 0; count < 12; count += 1) {
        await call(`bad ${count}`)
        await call(`bad ${count}`)
        expect(await call('ada')).toBe('done')
      }
    })

    test('opens for no other caller where each request has another credential', async () => {
      let count = 0
      let isDown = true
      const { upstream, call } = failingFor(
        () => isDown,
        () => `token ${count++}`,
      )
      for (let turn = 0; turn < 5; turn += 1) await call('mallory')
      expect(await call('mallory')).toBe('circuit_breaker')
      expect(upstream.asked('tools/call')).toHaveLength(3)
      isDown = false
      expect(await call('ada')).toBe('done')
    })
  })

  test('ends the retries of a call when it opens', async () => {
    const { server, called } = behind({ 'tools/call': () => busy() }, { retries: 5, circuitBreaker })
    await result(server, 'tools/list')
    expect(await refusal(server, 'tools/call', { name: 'read' })).toMatchObject({ data: { reason: 'circuit_breaker' } })
    expect(called('read')).toBe(3)
  })
})

describe('responses with HTTP 200', () => {
  const json = (body: unknown) => Response.json(body)
  const nested = (levels: number) => JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`)
  const deep = (id: unknown, levels: number) =>
    json({ jsonrpc: '2.0', id, result: { content: [], structuredContent: nested(levels) } })
  const note = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'note' } }

  function answering(answer: (id: unknown) => Response) {
    const breaker = { circuitBreaker: { failures: 1, pauseMs: 60_000 }, retries: 2 }
    const { server, called } = behind({ 'tools/call': ({ id }) => answer(id) }, breaker)
    return { server, called }
  }

  test.each<[string, () => Response, string]>([
    [
      'an HTML page',
      () => new Response('<p>Log in</p>', { headers: { 'Content-Type': 'text/html' } }),
      'The body is not valid JSON (text/html)',
    ],
    ['JSON of another API', () => json({ error: 'No' }), '"jsonrpc" must be "2.0" (application/json)'],
    ['a JSON text', () => json('ok'), 'A JSON-RPC message must be an object (application/json)'],
    ['a notification', () => json(note), 'the body has no response (application/json)'],
    ['an empty batch', () => json([]), 'A batch must not be empty (application/json)'],
    ['no body', () => new Response(null), 'the body is empty (no Content-Type)'],
  ])('a complete response without JSON-RPC is an answer: %s', async (_, answer, problem) => {
    const { server, called } = answering(answer)
    await result(server, 'tools/list')
    for (const times of [1, 2]) {
      expect(await refusal(server, 'tools/call', { name: 'read' })).toMatchObject({
        kind: 'unavailable',
        message: `The server at u.example answered tools/call without a JSON-RPC response: ${problem}`,
      })
      expect(called('read')).toBe(times)
    }
  })

  test.each<[string, (id: unknown) => Response]>([
    ['nesting', (id) => deep(id, 900)],
    ['messages', (id) => json([...Array(200).fill(note), { jsonrpc: '2.0', id, result: { content: [] } }])],
  ])('an upstream may answer beyond the bounds of requests: %s', async (_, answer) => {
    const { server, called } = answering(answer)
    await result(server, 'tools/call', { name: 'read' })
    expect(called('read')).toBe(1)
  })

  test('a response that is nested too deeply is an answer', async () => {
    const { server, called } = answering((id) => deep(id, 3_000))
    await result(server, 'tools/list')
    for (const times of [1, 2]) {
      const { message } = await refusal(server, 'tools/call', { name: 'read' })
      expect(message).toContain('The body has more than 1000 levels')
      expect(called('read')).toBe(times)
    }
  })

  test('an event stream that ends without a response is a failure', async () => {
    const empty = () => new Response('', { headers: { 'Content-Type': 'text/event-stream' } })
    const { server } = answering(empty)
    await refusal(server, 'tools/call', { name: 'send' })
    expect(await refusal(server, 'tools/call', { name: 'send' })).toMatchObject({ data: { reason: 'circuit_breaker' } })
  })
})

describe('the handshakes of one call', () => {
  const filled = (characters: number) => ({ ...described(), instructions: 'x'.repeat(characters) })
  const calls: [string, Record<string, unknown>][] = [
    ['tools/call', { name: 'x', arguments: {} }],
    ['prompts/get', { name: 'x' }],
    // Not the canonical spelling of the URI, so the upstream's list is read, too.
    ['resources/read', { uri: 'NOTE://%61' }],
    ['completion/complete', { ref: { type: 'ref/resource', uri: 'NOTE://%61' }, argument: { name: 'a', value: 'b' } }],
  ]
  const unfounded = ({ id }: ScriptedRequest) => rpcError(id, -32601, 'Method not found')

  test.each(calls)('are not repeated after a failure, in %s', async (method, params) => {
    const { server, upstream } = behind({ 'server/discover': () => busy({}, 429) })
    expect(await refusal(server, method, params)).toMatchObject({ kind: 'unavailable', data: { reason: 'HTTP 429' } })
    expect(upstream.requests).toHaveLength(3)
    // Another call finds out for itself.
    await refusal(server, method, params)
    expect(upstream.requests).toHaveLength(6)
  })

  test('are not repeated after a failure of initialize', async () => {
    const answers = { 'server/discover': unfounded, initialize: () => busy({}, 429) }
    const { server, upstream } = behind(answers, { retries: 0 })
    await refusal(server, 'resources/read', { uri: 'NOTE://%61' })
    expect(upstream.requests.map(({ method }) => method)).toEqual(['server/discover', 'initialize'])
  })

  test.each([200, 429])('have as much together as an answer, with HTTP %i', async (status) => {
    const half = ({ id }: ScriptedRequest) =>
      new Response(
        JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32000, message: 'x', data: 'x'.repeat(5_000_000) } }),
        {
          status,
          headers: { 'Content-Type': 'application/json' },
        },
      )
    const { server, upstream } = behind({ 'server/discover': half, initialize: half })
    expect(await refusal(server, 'tools/call', { name: 'x' })).toMatchObject({
      message: expect.stringContaining('with more than 8388608 bytes for one POST, more than proxy() reads'),
    })
    expect(upstream.requests).toHaveLength(2)
  })

  test.each<[string, string, Record<string, unknown>]>([
    ['bytes', '8388608 bytes', filled(8_400_000)],
    ['values', '100000 values', { ...described(), icons: Array(100_001).fill(0) }],
  ])('have a bound of their %s', async (_, bound, large) => {
    const stateless = behind({ 'server/discover': large })
    const session = behind({ 'server/discover': unfounded, initialize: large })
    for (const [{ server, upstream }, method, requests] of [
      [stateless, 'server/discover', 1],
      [session, 'initialize', 2],
    ] as const) {
      expect(await refusal(server, 'resources/read', { uri: 'NOTE://%61' })).toMatchObject({
        message: `The server at u.example answered ${method} with more than ${bound} for one POST, more than proxy() reads: let it send less`,
      })
      expect(upstream.requests).toHaveLength(requests)
    }
  })

  test('may be as large as that of a server with long instructions', async () => {
    const { server } = behind({ 'server/discover': filled(1_000_000) })
    expect(await result(server, 'tools/list')).toMatchObject({ tools })
  })
})

describe('through a Worker, an upstream with sessions', () => {
  let stub: Stub
  beforeEach(async () => {
    stub = await startStub()
  })
  afterEach(() => stub.close())

  test.each(['2026-07-28', '2025-11-25'])(
    'retries repeatable calls, and sends the others once: client of %s',
    async (revision) => {
      stub.tools = tools
      let failures = 0
      stub.call = ({ id, method }, response) => {
        if (method === undefined) return response.writeHead(202).end()
        failures += 1
        if (failures % 3 !== 0) return response.writeHead(503).end()
        const answer = { jsonrpc: '2.0', id, result: textResult('done') }
        return response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer))
      }
      await using server = await startServer('test/compose/resilience', { UPSTREAM: stub.url })
      await using client = await connect(server.url, { revision })
      await client.request('tools/list')
      expect(textOf(await client.callTool('read'))).toBe('done')
      await expect(client.callTool('send')).rejects.toThrow(/refuses the request with HTTP 503|does not answer/)
      const called = (name: string) =>
        stub.requests.filter(({ method, params }) => method === 'tools/call' && params.name === name).length
      expect([called('read'), called('send')]).toEqual([3, 1])
    },
  )
})
