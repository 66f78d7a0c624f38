import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect, type TestClient } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { TaskClient } from '../tasks/client.ts'

let server: TestServer

beforeAll(async () => {
  server = await startServer('test/serve/hooks')
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

type Counts = {
  interceptor: number
  finally: number
  limiter: number
  observe: number
  onResponse: number
  spans: number
  done: number
  held: number
  hungUp: number
}

const counts = async (method = 'GET'): Promise<Counts> =>
  (await (await fetch(new URL('/counts', server.url), { method })).json()) as Counts

/** The counts once every interceptor that began has ended, and nothing was added between two looks. */
async function settledCounts(): Promise<Counts> {
  let last: Counts | undefined
  let settled: Counts | undefined
  await expect
    .poll(async () => {
      const now = await counts()
      const isSame = JSON.stringify(now) === JSON.stringify(last)
      last = now
      if (isSame && now.interceptor === now.finally) settled = now
      return settled !== undefined
    })
    .toBe(true)
  if (!settled) throw new Error('The counts do not settle')
  return settled
}

const answers = { elicit: () => ({ action: 'accept' as const, content: { word: 'blue' } }) }

const transports = {
  stateless: () => connect(server.url, { revision: '2026-07-28', answers }),
  session: () => connect(server.url, { revision: '2025-11-25', answers }),
  'HTTP+SSE': () => connect(server.url, { revision: '2024-11-05', sse: true }),
}
type Transport = keyof typeof transports

const call = (name: string) => async (client: TestClient) => {
  await client.callTool(name).catch(() => {})
}
const request = (method: string, params: Record<string, unknown>) => async (client: TestClient) => {
  await client.request(method, params)
}

/** Calls until progress comes, then cancels. */
async function cancel(client: TestClient): Promise<void> {
  const { promise: started, resolve: start } = Promise.withResolvers<void>()
  const stop = new AbortController()
  const called = client.callTool('waits', {}, { signal: stop.signal, onProgress: () => start() }).catch(() => {})
  await started
  stop.abort()
  await called
}

const everywhere: readonly Transport[] = ['stateless', 'session', 'HTTP+SSE']
const cases: readonly [name: string, transports: readonly Transport[], act: (client: TestClient) => Promise<void>][] = [
  ['a tool that returns', everywhere, call('echo')],
  ['a tool that throws', everywhere, call('fails')],
  ['a tool that is cancelled', everywhere, cancel],
  ['a tool that requests input once', ['stateless', 'session'], call('asks')],
  ['`prompts/get`', everywhere, request('prompts/get', { name: 'greeting' })],
  ['`resources/read`', everywhere, request('resources/read', { uri: 'note://one' })],
  ['`tools/list`', everywhere, request('tools/list', {})],
  [
    '`completion/complete`',
    everywhere,
    request('completion/complete', {
      ref: { type: 'ref/resource', uri: 'note://{id}' },
      argument: { name: 'id', value: '' },
    }),
  ],
  ['`ping`', ['session', 'HTTP+SSE'], request('ping', {})],
  ['`logging/setLevel`', ['session', 'HTTP+SSE'], request('logging/setLevel', { level: 'info' })],
  ['`resources/subscribe`', ['session', 'HTTP+SSE'], request('resources/subscribe', { uri: 'note://one' })],
]

/** The rows of the table in docs/guides/plugins.md, by what they are about. */
const documented = new Map(
  readFileSync('docs/guides/plugins.md', 'utf8')
    .split('\n')
    .filter((line) => /^\| (?:a |`|connecting)/.test(line))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
    .filter((cells) => cells.length === 7)
    .map(([name, transport, ...figures]) => [`${name}, ${transport}`, figures.map(Number)] as const),
)

/** In the order of the columns of the table. */
const figuresOf = ({ interceptor, limiter, observe, spans, onResponse }: Counts) => [
  interceptor,
  limiter,
  observe,
  spans,
  onResponse,
]

const rows = cases.flatMap(([name, of, act]) => of.map((transport) => ({ name, transport, act })))

test.each(rows)('$name, $transport', async ({ name, transport, act }) => {
  await using client = await transports[transport]()
  await settledCounts()
  await counts('DELETE')
  await act(client)
  expect(figuresOf(await settledCounts())).toEqual(documented.get(`${name}, ${transport}`))
})

test.each(Object.keys(transports) as Transport[])('connecting, %s', async (transport) => {
  await settledCounts()
  await counts('DELETE')
  await using _ = await transports[transport]()
  expect(figuresOf(await settledCounts())).toEqual(documented.get(`connecting, ${transport}`))
})

describe('a stateless call whose client disconnects', () => {
  test('ends its interceptors, although the handler ignores its signal', async () => {
    await settledCounts()
    await counts('DELETE')
    const hangUp = new AbortController()
    const call = new TaskClient(server.url).ask('tools/call', { name: 'ignores' }, { signal: hangUp.signal })
    call.catch(() => {})
    await expect.poll(async () => (await counts()).interceptor).toBe(1)
    hangUp.abort()
    await expect(call).rejects.toThrow()
    expect(figuresOf(await settledCounts()).slice(0, 4)).toEqual([1, 1, 1, 1])
  })

  test('continues when the tool has singleUse: a repeated request gets the result', async () => {
    const client = new TaskClient(server.url)
    const { result: asked } = await client.ask('tools/call', { name: 'pays' })
    const inputResponses = { word: answers.elicit() }
    const again = { name: 'pays', requestState: asked?.requestState, inputResponses }
    await counts('DELETE')
    const hangUp = new AbortController()
    const call = client.ask('tools/call', again, { signal: hangUp.signal })
    call.catch(() => {})
    await expect.poll(async () => (await counts()).held).toBe(1)
    hangUp.abort()
    await expect(call).rejects.toThrow()
    await expect.poll(async () => (await counts()).hungUp).toBe(1)
    await using other = await connect(server.url, { revision: '2026-07-28' })
    await other.callTool('release')
    await expect.poll(async () => (await counts()).held).toBe(0)
    const { result } = await client.ask('tools/call', again)
    expect(result).toMatchObject({ content: [{ type: 'text', text: 'paid' }] })
  })
})

test('a task', async () => {
  await settledCounts()
  await counts('DELETE')
  await new TaskClient(server.url).ask('tools/call', { name: 'works', arguments: {} })
  await expect.poll(async () => (await counts()).done).toBe(1)
  expect(figuresOf(await settledCounts())).toEqual(documented.get('a task, stateless'))
})

test('the table has a row for each of these tests', () => {
  expect(documented.size).toBe(rows.length + 3 + 1)
})
