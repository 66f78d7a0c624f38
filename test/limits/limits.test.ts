import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect, everyRevision, type TestClient } from '../../worker/testing/index.ts'
import { sample } from '../support/full.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { statelessHeaders } from '../support/stateless.ts'

let server: TestServer
let hasty: TestServer

beforeAll(async () => {
  server = await startServer('test/limits/limited')
  hasty = await startServer('test/limits/limited', { TIME: '1000' })
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await hasty[Symbol.asyncDispose]()
})

let people = 0
/** Somebody who has used nothing up yet. */
const somebody = () => `person${++people}`

const clientOf = (revision: string, token = somebody()) => connect(server.url, { revision, token })

const textOf = async (called: ReturnType<TestClient['callTool']>) => (await called).content[0]

describe.each(sample(everyRevision, 2))('a client of %s', (revision) => {
  test('is refused above a rate of the platform', async () => {
    await using client = await clientOf(revision)
    for (let call = 0; call < 3; call++) expect(await textOf(client.callTool('bound'))).toMatchObject({ text: 'done' })
    // Its minutes are those of the clock: one may have begun between these calls and those before, but no second one.
    const more = async () => {
      for (let call = 0; call < 4; call++) await client.callTool('bound')
    }
    await expect(more()).rejects.toMatchObject({
      status: 429,
      message: expect.stringContaining(
        'Too many calls of bound: at most 3 in a minute. Wait 60 seconds, then try again',
      ),
    })
    expect(await textOf(client.callTool('free'))).toMatchObject({ text: 'done' })
  })

  test('is refused above a quota that calls with invalid arguments used up', async () => {
    await using client = await clientOf(revision)
    expect(await client.callTool('typed', { text: 1 })).toMatchObject({ isError: true })
    expect(await textOf(client.callTool('typed', { text: 'corrected' }))).toMatchObject({ text: 'corrected' })
    await expect(client.callTool('typed', { text: 'again' })).rejects.toMatchObject({ status: 429 })
  })

  test('gets the error for an unknown tool from a hidden tool, however often it calls it', async () => {
    await using client = await clientOf(revision)
    for (let call = 0; call < 3; call++) {
      await expect(client.callTool('hidden')).rejects.toMatchObject({
        message: expect.stringContaining('Unknown tool'),
      })
    }
  })

  test('is refused above a quota, with the time to wait', async () => {
    await using client = await clientOf(revision)
    for (let call = 0; call < 2; call++) await client.callTool('daily')
    await expect(client.callTool('daily')).rejects.toMatchObject({
      status: 429,
      message: expect.stringMatching(/Too many calls of daily: at most 2 in a day\. Wait \d+ seconds, then try again/),
    })
  })
})

const newest = '2026-07-28'

/** The raw answer to a call of a stateless client. */
function post(name: string, token: string | undefined, args: object = {}, headers: Record<string, string> = {}) {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': newest,
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
    progressToken: 'progress',
  }
  return fetch(server.url, {
    method: 'POST',
    headers: {
      ...statelessHeaders('tools/call', name),
      ...(token && { Authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args, _meta } }),
  })
}

test('Retry-After is the time to wait in seconds', async () => {
  const person = somebody()
  await post('daily', person)
  await post('daily', person)
  const secondsUntilMidnight = () => 86_400 - ((Date.now() / 1000) % 86_400)
  const before = secondsUntilMidnight()
  const refused = await post('daily', person)
  const after = secondsUntilMidnight()
  expect(refused.status).toBe(429)
  const seconds = Number(refused.headers.get('Retry-After'))
  expect(seconds).toBeLessThanOrEqual(Math.ceil(before))
  expect(seconds).toBeGreaterThanOrEqual(Math.floor(after))
  expect(await refused.json()).toMatchObject({ id: 1, error: { data: { retryAfter: seconds } } })
})

test('a rate without a binding is counted exactly', async () => {
  const person = somebody()
  const statuses = await Promise.all(Array.from({ length: 10 }, async () => (await post('counted', person)).status))
  expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(4)
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(2)
  expect(statuses).toContain(429)
})

test('a quota is exact for concurrent calls', async () => {
  const person = somebody()
  const statuses = await Promise.all(Array.from({ length: 20 }, async () => (await post('daily', person)).status))
  expect(statuses.filter((status) => status === 200)).toHaveLength(2)
})

test('a call that one limit refuses does not count for another limit', async () => {
  const person = somebody()
  const statuses: number[] = []
  for (let call = 0; call < 8; call++) statuses.push((await post('both', person)).status)
  expect(statuses).toEqual([200, 200, 429, 429, 429, 429, 429, 429])
  // 40 in an hour are for everything together: 2 were taken.
  const rest = await Promise.all(Array.from({ length: 45 }, async () => (await post('free', person)).status))
  expect(rest.filter((status) => status === 200)).toHaveLength(38)
})

test('limits count each principal, and anonymous callers by address or network', async () => {
  const [ada, bob] = [somebody(), somebody()]
  for (const person of [ada, bob])
    for (let call = 0; call < 2; call++) expect((await post('daily', person)).status).toBe(200)
  const from = async (address: string) => (await post('daily', undefined, {}, { 'CF-Connecting-IP': address })).status
  const statuses: number[] = []
  for (const address of ['198.51.100.1', '198.51.100.1', '::ffff:198.51.100.1', '198.51.100.2'])
    statuses.push(await from(address))
  for (const address of ['2001:db8:1:2::1', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::3', '2001:db8:1:3::1']) {
    statuses.push(await from(address))
  }
  expect(statuses).toEqual([200, 200, 429, 200, 200, 200, 429, 200])
})

test('limits apply to prompts and resources', async () => {
  await using client = await clientOf(newest)
  await client.request('prompts/get', { name: 'counted' })
  await expect(client.request('prompts/get', { name: 'counted' })).rejects.toMatchObject({ status: 429 })
  await client.request('resources/read', { uri: 'note://1' })
  await expect(client.request('resources/read', { uri: 'note://2' })).rejects.toMatchObject({ status: 429 })
})

test('`concurrent` refuses further calls until one ends', async () => {
  const person = somebody()
  const [first, second] = [await post('hold', person), await post('hold', person)]
  expect([first.status, second.status]).toEqual([200, 200])
  const third = await post('hold', person)
  expect(third.status).toBe(429)
  expect(await third.text()).toContain('Too many calls of hold are running: at most 2 at a time')
  await second.body?.cancel()
  await expect.poll(async () => (await post('hold', person)).status, { timeout: 60_000 }).toBe(200)
  await post('release', somebody())
  expect(await first.text()).toContain('"text":"released"')
})

test('`streams` refuses further streams', async () => {
  const person = somebody()
  await using client = await clientOf('2025-11-25', person)
  await client.subscribe({})
  await using other = await clientOf('2025-11-25', person)
  const second = await other.subscribe({})
  await using third = await clientOf('2025-11-25', person)
  await expect(third.subscribe({})).rejects.toThrow('No stream')
  await second.close()
  await expect
    .poll(() =>
      third.subscribe({}).then(
        () => 'open',
        () => 'refused',
      ),
    )
    .toBe('open')
})

test('the open streams of a caller are not counted as calls of a tool named streams', async () => {
  await using client = await clientOf(newest)
  await client.subscribe({ toolsListChanged: true })
  expect(await textOf(client.callTool('streams'))).toMatchObject({ text: 'done' })
})

describe.each([newest, '2025-11-25'])('the time limit of a handler, for a client of %s', (revision) => {
  test('stops the handler and fails the call', async () => {
    await using client = await connect(hasty.url, { revision })
    await expect(client.callTool('late')).rejects.toThrow('The call took longer than 1 seconds and was stopped')
  })

  test('does not include the time in which the handler waits for its client', async () => {
    const elicit = async () => {
      await new Promise((resolve) => setTimeout(resolve, 1_500))
      return { action: 'accept' as const, content: { word: 'finally' } }
    }
    await using client = await connect(hasty.url, { revision, answers: { elicit } })
    expect(await textOf(client.callTool('patient'))).toMatchObject({ text: 'finally' })
  })
})

test('large arguments, deep bodies and long batches are refused', async () => {
  const large = await post('echo', somebody(), { text: 'x'.repeat(1_000) })
  expect(large.status).toBe(413)
  expect(await large.text()).toContain('The arguments are too long: at most 1000 characters')
  expect((await post('echo', somebody(), { text: 'x'.repeat(900) })).status).toBe(200)
  const deep = await post('free', somebody(), JSON.parse(`${'{"a":'.repeat(30)}1${'}'.repeat(30)}`))
  expect(deep.status).toBe(400)
  expect(await deep.text()).toContain('more than 20 levels')
  const batch = await fetch(server.url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' },
    body: JSON.stringify(Array.from({ length: 11 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' }))),
  })
  expect(await batch.text()).toContain('A batch has at most 10 messages')
})
