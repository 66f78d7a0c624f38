/** Each bound of docs/reference/limits.md: a value as large as the bound is taken, a larger one is refused before anything is done with it. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defaultLimits } from '../../worker/http/limits.ts'
import * as bounds from '../../worker/protocol/bounds.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { type Case, cases, type Posted, type Transport, transports } from './bounded-cases.ts'

/** By the name of the bound. */
const sizes = { ...bounds }

let server: TestServer
let wire: Record<Transport, (posted: Posted) => Promise<Answer>>
const closing = new AbortController()

beforeAll(async () => {
  server = await startServer('test/http/bounded')
  wire = { stateless: postAlone, session: await openSession(), sse: await openSse() }
})
afterAll(async () => {
  closing.abort()
  await server[Symbol.asyncDispose]()
})

type Answer = { status: number; code: number | undefined; message: string }

const json = { Accept: 'application/json, text/event-stream', 'Content-Type': 'application/json' }

async function post(url: URL, message: unknown, headers: Record<string, string>): Promise<Answer> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { ...json, ...headers },
    body: JSON.stringify(message),
    signal: closing.signal,
  })
  const { status } = response
  if (response.headers.get('Content-Type')?.startsWith('text/event-stream')) {
    await response.body?.cancel()
    return { status, code: undefined, message: '' }
  }
  const text = await response.text()
  const error = text.startsWith('{') ? JSON.parse(text).error : undefined
  return { status, code: error?.code, message: error?.message ?? '' }
}

const messageOf = (posted: Posted) =>
  'result' in posted
    ? { jsonrpc: '2.0', id: 'ask-1', result: posted.result }
    : { jsonrpc: '2.0', id: posted.id ?? 1, method: posted.method, params: posted.params }
const headersOf = (posted: Posted) => ('result' in posted ? {} : posted.headers)

function postAlone(posted: Posted): Promise<Answer> {
  if ('result' in posted) throw new Error('A stateless client posts no responses')
  const { method, params } = posted
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
    ...(params._meta as object),
  }
  const headers = {
    'MCP-Protocol-Version': '2026-07-28',
    'Mcp-Method': method,
    'Mcp-Name': `${params.name ?? params.uri ?? params.taskId}`,
    ...headersOf(posted),
  }
  return post(server.url, { ...messageOf(posted), params: { ...params, _meta } }, headers)
}

async function openSession(version = '2025-11-25') {
  const params = { protocolVersion: version, capabilities: {}, clientInfo: { name: 'bounds', version: '1' } }
  const response = await fetch(server.url, {
    method: 'POST',
    headers: json,
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
  })
  const session = { 'Mcp-Session-Id': response.headers.get('Mcp-Session-Id') as string }
  await response.body?.cancel()
  return (posted: Posted) =>
    'method' in posted && posted.method === 'initialize'
      ? post(server.url, messageOf(posted), {})
      : post(server.url, messageOf(posted), { ...session, ...headersOf(posted) })
}

async function openSse() {
  const response = await fetch(new URL('/sse', server.url), { signal: closing.signal })
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const decoder = new TextDecoder()
  let text = ''
  while (!text.includes('\n\n')) text += decoder.decode((await reader.read()).value, { stream: true })
  const url = new URL(/data: (.*)/.exec(text)?.[1] as string, server.url)
  void (async () => {
    while (!(await reader.read()).done);
  })().catch(() => {})
  const params = { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'bounds', version: '1' } }
  await post(url, { jsonrpc: '2.0', id: 0, method: 'initialize', params }, {})
  return (posted: Posted) => post(url, messageOf(posted), { ...headersOf(posted) })
}

/** What the server has counted so far: authorizations of large messages, and calls of functions of its developer. */
async function counts(): Promise<unknown> {
  const params = {
    name: 'counts',
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  }
  const headers = { ...json, 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': 'counts' }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  const response = await fetch(server.url, { method: 'POST', headers, body })
  return (await response.json()).result.content[0].text
}

const isBeyondBound = /accepts at most/

for (const each of cases) {
  const { bound, refused: [status, code] = [400, -32602], over = transports } = each
  describe.each(over)(`${each.what}, ${describing(each)}, over %s`, (transport) => {
    test(`is accepted when it is as large as ${bound}`, async () => {
      const answer = await wire[transport](each.post(sizes[bound]))
      expect(answer.message).not.toMatch(isBeyondBound)
      expect(answer.status).not.toBe(500)
    })

    test(`is refused before any processing when it is larger than ${bound}`, async () => {
      const before = await counts()
      const posted = each.post(sizes[bound] + 1)
      const answer = await wire[transport](posted)
      // A response becomes an error response for the call that waits for it.
      if ('result' in posted) expect(answer).toEqual({ status: 202, code: undefined, message: '' })
      else expect(answer).toMatchObject({ status, code })
      if (!each.isAlwaysRefused && !('result' in posted)) expect(answer.message).toMatch(isBeyondBound)
      expect(await counts()).toBe(before)
    })
  })
}

function describing({ post, bound }: Case): string {
  const posted = post(sizes[bound])
  return 'method' in posted && posted.method.includes('/') ? `in ${posted.method}` : 'alone'
}

describe('a URI of four megabytes, in resources/read', () => {
  // As many as a body has room for, beside the message around them.
  const characters = defaultLimits.maxBodyBytes - 1_000
  const uris = ['a', '/', '%', '%41', '-', '.', '..', '\\'].map((piece) => {
    return [
      piece,
      `note://${piece.repeat(Math.floor(characters / JSON.stringify(piece).slice(1, -1).length) - 7)}`,
    ] as const
  })

  test('causes work of the server when it has a few characters, for comparison', async () => {
    const before = await counts()
    await postAlone({ method: 'resources/read', params: { uri: 'note://1' }, headers: { 'Mcp-Name': 'note://1' } })
    expect(await counts()).not.toBe(before)
  })

  test.each(uris)('of %j is refused before templates are matched', async (_, uri) => {
    const before = await counts()
    expect(await postAlone({ method: 'resources/read', params: { uri }, headers: { 'Mcp-Name': 'note://1' } })).toEqual(
      {
        status: 400,
        code: -32602,
        message: `params.uri has ${uri.length} characters: this server accepts at most ${bounds.uriCharacters}`,
      },
    )
    expect(await counts()).toBe(before)
  })
})

test('a batch with one message that exceeds a bound is refused as a whole', async () => {
  const small = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'ask' } }
  const large = { jsonrpc: '2.0', id: 2, method: 'resources/read', params: { uri: `note://${'a'.repeat(9_000)}` } }
  const params = { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'bounds', version: '1' } }
  const opening = { jsonrpc: '2.0', id: 1, method: 'initialize', params }
  const opened = await fetch(server.url, { method: 'POST', headers: json, body: JSON.stringify(opening) })
  const before = await counts()
  const session = { 'Mcp-Session-Id': opened.headers.get('Mcp-Session-Id') as string }
  expect(await post(server.url, [small, large], session)).toEqual({
    status: 400,
    code: -32602,
    message: 'params.uri has 9007 characters: this server accepts at most 8192',
  })
  expect(await counts()).toBe(before)
})

test('JSON is measured as JSON.stringify writes it, in which numbers can be longer', async () => {
  const inText = (text: string) => `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"n":[${text}]}}}`
  const send = async (text: string) => {
    const headers = { ...json, 'MCP-Protocol-Version': '2025-11-25' }
    const response = await fetch(server.url, { method: 'POST', headers, body: inText(text) })
    return { status: response.status, text: await response.text() }
  }
  const digits = (1e20).toString().length
  const count = Math.ceil(bounds.metaCharacters / (digits + 1)) + 1
  const refused = await send(Array.from({ length: count }, () => '1e20').join())
  expect(refused).toMatchObject({
    status: 400,
    text: expect.stringMatching(/params\._meta has 65\d{3} characters of JSON/),
  })
  expect((await send(Array.from({ length: count }, () => '1').join())).status).toBe(200)
})

test('a Last-Event-ID beyond its bound is refused', async () => {
  const resume = async (id: string) => {
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bounds', version: '1' } }
    const opening = { jsonrpc: '2.0', id: 1, method: 'initialize', params }
    const opened = await fetch(server.url, { method: 'POST', headers: json, body: JSON.stringify(opening) })
    const session = { 'Mcp-Session-Id': opened.headers.get('Mcp-Session-Id') as string }
    const headers = { ...session, Accept: 'text/event-stream', 'Last-Event-ID': id }
    const response = await fetch(server.url, { headers })
    return [response.status, (await response.json()).error.message]
  }
  expect(await resume('1'.repeat(bounds.eventIdCharacters))).toEqual([400, expect.not.stringMatching(isBeyondBound)])
  expect(await resume('1'.repeat(bounds.eventIdCharacters + 1))).toEqual([400, expect.stringMatching(isBeyondBound)])
})

describe('a filter of subscriptions/listen', () => {
  const listenTo = (uris: readonly string[]) =>
    postAlone({ method: 'subscriptions/listen', params: { notifications: { resourceSubscriptions: uris } } })

  test.each([
    ['beyond Latin-1', '日'],
    ['of Latin-1', 'ä'],
  ])('is measured with its URIs percent-encoded: characters %s', async (_, character) => {
    const before = await counts()
    expect(await listenTo([`note://${character.repeat(4_000)}`, 'note://日'])).toMatchObject({
      status: 400,
      code: -32602,
      message: expect.stringMatching(isBeyondBound),
    })
    expect(await counts()).toBe(before)
  })

  test('opens a stream when it has the maximum size', async () => {
    // Six characters for each.
    const uri = (characters: number) => `note://${'ä'.repeat(characters)}`
    const room = Math.floor((bounds.filterCharacters - uri(0).length) / 6)
    expect((await listenTo([uri(room)])).status).toBe(200)
    expect((await listenTo([uri(room + 1)])).status).toBe(400)
  })
})

describe('the table of docs/reference/limits.md', () => {
  const page = readFileSync(resolve(import.meta.dirname, '../../docs/reference/limits.md'), 'utf8')
  const section = page.split('## Message bounds\n')[1]?.split('\n## ')[0] ?? ''
  const rows = [...section.matchAll(/^\| (.+) \| ([\d,]+) (.+) \| (.+) \|$/gm)].map(([, what, size, unit, beyond]) => ({
    what: what as string,
    size: Number(size?.replaceAll(',', '')),
    unit: unit as string,
    beyond: beyond as string,
  }))
  /** Rows with tests of their own, and where. */
  const elsewhere: Readonly<Record<string, keyof typeof bounds>> = {
    'header `Last-Event-ID`': 'eventIdCharacters',
    'state handle': 'handleCharacters',
    'resource subscriptions of a session': 'sessionSubscriptions',
    'URIs that a session subscribes to, together': 'sessionSubscriptionCharacters',
    'values in a result of `completion/complete`': 'completionValues',
    'filter of `subscriptions/listen`, with its tasks': 'topicBytes',
  }

  test('has a case with the bound and the error of each row', () => {
    expect(rows.length).toBeGreaterThan(20)
    for (const { what, size, unit, beyond } of rows) {
      const those = cases.filter((each) => each.what === what)
      const bound = those[0]?.bound ?? elsewhere[what]
      if (!bound) throw new Error(`docs/reference/limits.md has the row "${what}", and no case tests it`)
      expect({ what, size }).toEqual({ what, size: sizes[bound] })
      expect(bound.toLowerCase()).toContain(unit.startsWith('characters') ? 'characters' : unit.split(' ')[0])
      for (const { refused: [status, code] = [400, -32602] } of those) {
        expect({ what, beyond }).toEqual({ what, beyond: `${status}, ${code}` })
      }
    }
  })

  test('has a row for each case and each bound', () => {
    const named = new Set(rows.map(({ what }) => what))
    expect([...cases.map(({ what }) => what), ...Object.keys(elsewhere)].filter((what) => !named.has(what))).toEqual([])
    const used = new Set([...cases.map(({ bound }) => bound), ...Object.values(elsewhere)])
    expect(Object.keys(sizes).filter((bound) => !used.has(bound as keyof typeof bounds))).toEqual([])
  })
})

test('the server still responds, and has logged no errors', async () => {
  expect(await counts()).toContain('{')
  expect(server.harness.getLogs().filter(({ level }) => level === 'error')).toEqual([])
})
