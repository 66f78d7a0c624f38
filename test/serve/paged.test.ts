import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ConnectOptions, connect, type TestClient } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/serve/paged')
})
afterAll(() => server[Symbol.asyncDispose]())

type Page = { page: string[]; nextCursor?: string }

describe.each(['2025-11-25', '2026-07-28'])('pages of a tool in %s', (revision) => {
  const as = (token: string, options: Partial<ConnectOptions> = {}) =>
    connect(server.url, { revision, token, ...options })
  const pageOf = async (client: TestClient, tool: string, cursor?: string) =>
    (await client.callTool(tool, cursor === undefined ? {} : { cursor })).structuredContent as Page

  test('follow each other by cursor, also in another session', async () => {
    await using ada = await as('ada')
    const first = await pageOf(ada, 'orders')
    expect(first).toEqual({ page: ['order 1', 'order 2'], nextCursor: expect.any(String) })
    expect(first.nextCursor).not.toContain('start')
    await using again = await as('ada')
    const second = await pageOf(again, 'orders', first.nextCursor)
    expect(second.page).toEqual(['order 3', 'order 4'])
    expect(await pageOf(ada, 'orders', second.nextCursor)).toEqual({ page: ['order 5'] })
  })

  test('are refused with one error for a foreign, changed, other or expired cursor', async () => {
    await using ada = await as('ada')
    await using eve = await as('eve')
    const { nextCursor = '' } = await pageOf(ada, 'orders')
    const other = await pageOf(ada, 'expired')
    const refused = (name: string) => ({
      isError: true,
      content: [{ text: `This cursor of "${name}" is unknown or expired: start again without a cursor` }],
    })
    for (const cursor of ['', 'made up', `${nextCursor}x`, nextCursor.slice(0, -1), 'x'.repeat(100_000)]) {
      expect(await ada.callTool('orders', { cursor })).toMatchObject(refused('orders'))
    }
    expect(await eve.callTool('orders', { cursor: nextCursor })).toMatchObject(refused('orders'))
    expect(await ada.callTool('orders', { cursor: other.nextCursor })).toMatchObject(refused('orders'))
    expect(await ada.callTool('expired', { cursor: other.nextCursor })).toMatchObject(refused('expired'))
  })

  test.each([
    ['undefined', 'is undefined: return no cursor after the last page'],
    ['function', 'has a function at next, which has no JSON form: use plain objects'],
    ['bigint', 'has a bigint at id, which has no JSON form: use plain objects'],
    ['NaN', 'has NaN at start, which has no JSON form: use plain objects'],
    ['Map', 'has a value of the class Map, which has no JSON form: use plain objects'],
    ['promise', 'has a promise that is not awaited, which has no JSON form: use plain objects'],
    ['circle', 'has a value that has no JSON form: Converting circular structure'],
    ['long', 'is too long: the cursor has more than 32768 characters. Put the key of the last entry into it'],
  ])('have no cursor for a position that it cannot hold: %s', async (position, problem) => {
    await using ada = await as('ada')
    expect(await ada.callTool('any', { position })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining(`The position of a cursor of "any" ${problem}`) }],
    })
  })

  test.each(['null', 'largest'])('have a cursor for the position: %s', async (position) => {
    await using ada = await as('ada')
    expect(await ada.callTool('any', { position })).toMatchObject({ content: [{ text: 'true' }] })
  })

  test('can request input', async () => {
    const asked: unknown[] = []
    await using ada = await as('ada', {
      answers: {
        elicit: ({ message }) => {
          asked.push(message)
          return { action: 'accept', content: { sure: true } }
        },
      },
    })
    const { nextCursor } = await pageOf(ada, 'confirmed')
    expect((await pageOf(ada, 'confirmed', nextCursor)).page).toEqual(['order 3', 'order 4'])
    expect(asked).toEqual(['Show order 1,order 2?', 'Show order 3,order 4?'])
  })
})

test('a task continues with the cursor of a call, and a call with that of a task', async () => {
  await using ada = await connect(server.url, {
    revision: '2026-07-28',
    token: 'ada',
    capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } },
  })
  const { structuredContent } = await ada.callTool('orders')
  const call = { name: 'later', arguments: { cursor: (structuredContent as Page).nextCursor } }
  const { taskId } = await ada.request('tools/call', call)
  const task = async () => (await ada.request('tasks/get', { taskId })) as { status: string; result?: object }
  await expect.poll(async () => (await task()).status).toBe('completed')
  const { result } = await task()
  const { page, nextCursor } = (result as { structuredContent: Page }).structuredContent
  expect(page).toEqual(['order 3', 'order 4'])
  expect((await ada.callTool('orders', { cursor: nextCursor })).structuredContent).toEqual({ page: ['order 5'] })
})
