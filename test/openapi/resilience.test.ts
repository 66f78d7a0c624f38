/** Timeouts, retries and the circuit breaker of openApiTools(): an operation that must not be repeated is sent once. */
import { once } from 'node:events'
import { createServer, type Server as HttpServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Server } from '../../worker/declarations/server.ts'
import { type OpenApiToolsOptions, openApiTools, parseOpenApi } from '../../worker/plugins/openapi/index.ts'
import { newServer, result, textOf } from '../engine/stage.ts'

const methods = ['get', 'head', 'put', 'delete', 'post', 'patch']
const document = {
  openapi: '3.1.0',
  paths: { '/mail': Object.fromEntries(methods.map((method) => [method, { operationId: method }])) },
}

const requests: string[] = []
let listening: HttpServer
let answer: (response: ServerResponse, count: number) => void
beforeEach(async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0.05)
  requests.length = 0
  listening = createServer((request, response) => {
    requests.push(String(request.method))
    answer(response, requests.length)
  }).listen(0, '127.0.0.1')
  await once(listening, 'listening')
})
afterEach(() => {
  vi.restoreAllMocks()
  listening.closeAllConnections()
  listening.close()
})

const baseUrl = () => `http://127.0.0.1:${(listening.address() as AddressInfo).port}`
const serverOf = (options: Partial<OpenApiToolsOptions> = {}) =>
  newServer().use(openApiTools(parseOpenApi(document), { baseUrl: baseUrl(), ...options }))
const fail = (failures: number, status = 503) => {
  answer = (response, count) => response.writeHead(count > failures ? 200 : status).end()
}

describe('an operation that fails', () => {
  test.each([
    ['get', 503],
    ['head', 502],
    ['put', 504],
    ['delete', 429],
    ['get', 408],
  ])('is sent again, if it is idempotent: %s after HTTP %i', async (name, status) => {
    fail(2, status)
    expect(textOf(await result(serverOf(), 'tools/call', { name }))).toBe('HTTP 200')
    expect(requests).toEqual(Array(3).fill(name.toUpperCase()))
  })

  test.each(['post', 'patch'])('is sent once, if it is not idempotent: %s', async (name) => {
    fail(2)
    expect(await result(serverOf(), 'tools/call', { name })).toMatchObject({ isError: true })
    answer = (response) => response.destroy()
    expect(textOf(await result(serverOf(), 'tools/call', { name }))).toMatch(/does not answer$/)
    expect(requests).toHaveLength(2)
  })

  test.each([400, 404, 500, 501])('is sent once, if its failure is not temporary: HTTP %i', async (status) => {
    fail(9, status)
    expect(textOf(await result(serverOf(), 'tools/call', { name: 'get' }))).toContain(`HTTP ${status}`)
    expect(requests).toHaveLength(1)
  })

  test('is sent again at most "retries" times', async () => {
    fail(9)
    await result(serverOf({ retries: 0 }), 'tools/call', { name: 'get' })
    await result(serverOf({ retries: 1 }), 'tools/call', { name: 'get' })
    expect(requests).toHaveLength(3)
  })

  test('is not sent again, if Retry-After is beyond the timeout', async () => {
    answer = (response) => response.writeHead(503, { 'Retry-After': '600' }).end()
    expect(textOf(await result(serverOf(), 'tools/call', { name: 'get' }))).toContain('HTTP 503')
    expect(requests).toHaveLength(1)
  })

  test('is not sent again when its caller has cancelled it', async () => {
    const stop = new AbortController()
    answer = (response) => {
      response.writeHead(503, { 'Retry-After': '50' }).end()
      setImmediate(() => stop.abort(new Error('Cancelled')))
    }
    await result(serverOf(), 'tools/call', { name: 'get' }, { signal: stop.signal }).catch(() => {})
    expect(requests).toHaveLength(1)
  })
})

test('an API without a response in time is an error that the model reads', async () => {
  answer = () => {}
  const server = serverOf({ timeout: 3000, attemptTimeout: 700, retries: 1 })
  const answered = await result(server, 'tools/call', { name: 'get' })
  expect(answered).toMatchObject({ isError: true })
  expect(textOf(answered)).toMatch(/^127\.0\.0\.1:\d+ does not answer$/)
  expect(requests).toHaveLength(2)
  await result(server, 'tools/call', { name: 'post' })
  expect(requests).toHaveLength(3)
})

test.each<[string, (response: ServerResponse) => void, RegExp, isReported: boolean]>([
  [
    'answers too much',
    (response) => response.end(Buffer.alloc(17 * 1024 * 1024, ' ')),
    /more than openApiTools\(\) reads: ask for a smaller part$/,
    false,
  ],
  ['hangs up', (response) => response.destroy(), /^127\.0\.0\.1:\d+ does not answer$/, true],
  [
    'redirects to another origin',
    (response) => response.writeHead(302, { Location: 'https://elsewhere.example/' }).end(),
    /^GET \/mail redirects to https:\/\/elsewhere\.example\//,
    true,
  ],
])('with "generic", the model reads the error of an API that %s', async (_, answers, text, isReported) => {
  answer = answers
  const reported: unknown[] = []
  const { declarations } = serverOf({ retries: 0 })
  const handleFailure = (thrown: unknown) => {
    reported.push(thrown)
    return 'The tool failed (error id 1)'
  }
  const server = { declarations: Object.create(declarations, { handleFailure: { value: handleFailure } }) }
  const answered = await result(server as Server, 'tools/call', { name: 'get' })
  expect(answered).toMatchObject({ isError: true })
  expect(textOf(answered)).toMatch(text)
  expect(reported).toEqual(isReported ? [expect.objectContaining({ message: textOf(answered) })] : [])
})

test('the circuit breaker refuses calls after consecutive failures, and lets one try after the pause', async () => {
  fail(3, 500)
  const server = serverOf({ circuitBreaker: { failures: 3, pause: '1m' } })
  const now = vi.spyOn(Date, 'now')
  const startMs = 1_800_000_000_000
  now.mockReturnValue(startMs)
  for (let count = 0; count < 3; count += 1) await result(server, 'tools/call', { name: 'post' })
  const refused = await result(server, 'tools/call', { name: 'post' })
  expect(refused).toMatchObject({ isError: true })
  expect(textOf(refused)).toMatch(/is unavailable: its last requests failed\. Retry in 60 s$/)
  expect(requests).toHaveLength(3)
  now.mockReturnValue(startMs + 60_000)
  expect(textOf(await result(server, 'tools/call', { name: 'post' }))).toBe('HTTP 200')
  expect(textOf(await result(server, 'tools/call', { name: 'post' }))).toBe('HTTP 200')
})

test('the circuit breaker of one caller refuses no calls of another one, also with headers that are new for each call', async () => {
  let isFailing = true
  answer = (response) => response.writeHead(isFailing ? 500 : 200).end()
  const server = serverOf({ headers: { 'X-Token': () => crypto.randomUUID() }, circuitBreaker: { failures: 3 } })
  const call = async (subject: string) => {
    const principal = { issuer: 'https://names.example', subject, scopes: [], claims: {} }
    return textOf(await result(server, 'tools/call', { name: 'post' }, { principal }))
  }
  for (let count = 0; count < 5; count += 1) await call('mallory')
  expect(await call('mallory')).toContain('is unavailable: its last requests failed')
  expect(requests).toHaveLength(3)
  isFailing = false
  expect(await call('ada')).toBe('HTTP 200')
})

test('responses that begin, and are not complete in time, are no outages', async () => {
  answer = (response) => response.write('slowly')
  const limits: AbortController[] = []
  vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => {
    limits.unshift(new AbortController())
    return (limits[0] as AbortController).signal // it was just added
  })
  const send = globalThis.fetch
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (...request) => {
    const response = await send(...request)
    setImmediate(() => limits[0]?.abort(new DOMException('The time is over', 'TimeoutError')))
    return response
  })
  const server = serverOf({ timeout: 50, circuitBreaker: { failures: 2 } })
  for (let count = 1; count <= 3; count += 1) {
    const late = await result(server, 'tools/call', { name: 'get' })
    expect(late).toMatchObject({ isError: true })
    expect(textOf(late)).toMatch(/^127\.0\.0\.1:\d+ did not complete its response within 50 ms$/)
    expect(requests).toHaveLength(count)
  }
})

test.each([
  [{ retries: -1 }, '"retries" of openApiTools() must be a whole number of 0 or more, not -1'],
  [{ circuitBreaker: true }, '"circuitBreaker" of openApiTools() must be false, or an object such as'],
  [
    { circuitBreaker: { failures: 0 } },
    '"circuitBreaker.failures" of openApiTools() must be a whole number of 1 or more',
  ],
  [{ attemptTimeout: 'soon' }, '"attemptTimeout" of openApiTools() must be at least 1 ms: milliseconds'],
])('%j is refused', (options, message) => {
  expect(() => openApiTools([], { baseUrl: 'https://api.example', ...(options as object) })).toThrow(message)
})
