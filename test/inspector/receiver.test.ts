/** The callback URL of the inspector, as anything but its page reaches it. */
import { request } from 'node:http'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { inspectorCookie, inspectorSecrets } from '../support/inspector-key.ts'
import { startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  // Wrangler puts this into the bundle.
  vi.stubEnv('NODE_ENV', 'development')
  server = await startServer('test/inspector/server', inspectorSecrets)
})
afterAll(() => server?.harness.close())

type Sent = { readonly method?: string; readonly headers?: Record<string, string>; readonly body?: string }
type Answer = { readonly status: number | undefined; readonly text: string }

/** `fetch` sets headers of its own. */
function send(query: string, { method = 'POST', headers = {}, body = '' }: Sent = {}): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const sent = request(new URL(`/?inside=${query}`, server.url), { method, headers }, async (response) => {
    const chunks: Buffer[] = []
    for await (const chunk of response) chunks.push(chunk)
    resolve({ status: response.statusCode, text: String(Buffer.concat(chunks)) })
  })
  sent.on('error', reject)
  sent.end(body)
  return promise
}

type Webhook = { readonly key: string; readonly text: string; readonly answer: number | string }
type Report = { readonly answer: number | string; readonly received: readonly Webhook[] }

async function report(after = ''): Promise<Report> {
  const { text } = await send(`receiver&after=${after}`, { method: 'GET', headers: inspectorCookie(server.url) })
  return JSON.parse(text)
}
const bodies = async () => (await report()).received.map(({ text }) => text)
const select = (answer: string) => send(`events&answer=${answer}`, { headers: inspectorCookie(server.url) })

test('returns a challenge, and records it with its headers', async () => {
  const body = JSON.stringify({ type: 'verification', challenge: 'abc' })
  const headers = {
    'webhook-id': 'msg_1',
    'webhook-timestamp': '1',
    'webhook-signature': 'v1,AAAA',
    'X-MCP-Subscription-Id': 'sub_1',
  }
  expect(await send('receiver', { headers, body })).toEqual({ status: 200, text: '{"challenge":"abc"}' })
  expect((await report()).received.at(-1)).toEqual({
    key: expect.any(String),
    at: expect.stringMatching(/^20\d\d-/),
    id: 'msg_1',
    timestamp: '1',
    signature: 'v1,AAAA',
    subscription: 'sub_1',
    text: body,
    answer: 200,
  })
})

test('answers events with the selected status, which only the inspector selects', async () => {
  for (const status of [401, 410, 413, 503, 204]) {
    await select(String(status))
    expect(await send('receiver', { body: `{"eventId":"${status}"}` })).toEqual({ status, text: '' })
    expect(await report()).toMatchObject({ answer: status })
  }
  expect((await send('events&answer=410')).status).toBe(403)
  // A link changes nothing.
  await send('events&answer=410', { method: 'GET', headers: inspectorCookie(server.url) })
  for (const unknown of ['', '101', '600', 'all']) await select(unknown)
  expect(await report()).toMatchObject({ answer: 204 })
})

test('does not answer at all, if that is selected, until the sender gives up', async () => {
  await select('none')
  const { promise, resolve } = Promise.withResolvers<string>()
  const sent = request(new URL('/?inside=receiver', server.url), { method: 'POST' }, () => resolve('answered'))
  sent.on('error', () => resolve('no answer'))
  sent.end('unanswered')
  await expect.poll(bodies).toContain('unanswered')
  sent.destroy()
  expect(await promise).toBe('no answer')
  await select('204')
})

test('records what is no JSON', async () => {
  expect((await send('receiver', { body: 'no JSON' })).status).toBe(204)
  expect(await bodies()).toContain('no JSON')
})

test.each<[string, Record<string, string>]>([
  ['a page of another origin', { Origin: 'https://attacker.example' }],
  ['a page of another port', { Origin: 'http://localhost:1' }],
  ['a sandboxed page', { Origin: 'null' }],
  ['a page of another site', { 'Sec-Fetch-Site': 'cross-site' }],
  ['a page of the same site', { 'Sec-Fetch-Site': 'same-site' }],
  ['a tunnel', { 'X-Forwarded-For': '203.0.113.9' }],
  ['a proxy', { Via: '1.1 proxy' }],
  ['a client of another machine', { 'CF-Connecting-IP': '203.0.113.9' }],
  ['a request to another host name', { Host: 'attacker.example' }],
])('refuses %s', async (sender, headers) => {
  expect((await send('receiver', { headers, body: sender })).status).toBe(403)
  expect(await bodies()).not.toContain(sender)
})

test('refuses bodies that are larger than those of events', async () => {
  expect((await send('receiver', { body: 'x'.repeat(262_144) })).status).toBe(204)
  expect((await send('receiver', { body: 'y'.repeat(262_145) })).status).toBe(413)
  expect((await bodies()).filter((text) => text.startsWith('y'))).toEqual([])
})

test('keeps the latest 50', async () => {
  const numbers = Array.from({ length: 51 }, (_, at) => `number ${at}`)
  for (const body of numbers) await send('receiver', { body })
  expect(await bodies()).toEqual(numbers.slice(1))
  const { received } = await report()
  expect((await report(received[47]?.key)).received).toEqual(received.slice(48))
})

test('the inspector learns of a webhook on the stream that it has open', async () => {
  const { body } = await fetch(new URL('/?inside=reload', server.url), { headers: inspectorCookie(server.url) })
  const texts = (body ?? new ReadableStream()).pipeThrough(new TextDecoderStream()).values()
  expect((await texts.next()).value).toBe(': keep-alive\n\n')
  await send('receiver')
  expect((await texts.next()).value).toBe('data: news\n\n')
  await texts.return?.()
})

test('only the inspector reads what was received', async () => {
  for (const query of ['receiver', 'events']) expect((await send(query, { method: 'GET' })).status).toBe(403)
})
