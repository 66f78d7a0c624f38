import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { logText, startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/errors/sized')
})
afterAll(() => server[Symbol.asyncDispose]())

const urlOf = (endpoint: string) => new URL(`/${endpoint}/mcp`, server.url)
const seen = async (): Promise<string[]> => (await fetch(new URL('/seen', server.url), { method: 'POST' })).json()
const log = () => logText(server)
const textOf = (content: unknown) => (content as { text: string }[])[0]?.text ?? ''

describe.each(['2026-07-28', '2025-11-25'])('%s', (revision) => {
  test('returns an error with the size of a result that is too large to the model, and passes it to onError', async () => {
    await using client = await connect(urlOf('small'), { revision })
    await seen()
    const fits = await client.callTool('fill', { characters: 4000 })
    expect(textOf(fits.content)).toHaveLength(4000)
    expect(await seen()).toEqual([])
    // Two bytes each in UTF-8.
    const { isError, content } = await client.callTool('fill', { characters: 5000 })
    expect(isError).toBe(true)
    const message = expect.stringMatching(
      /^The tool "fill" returned 10\d\d\d bytes of JSON, and this server sends at most 10000: request less at a time/,
    )
    expect(textOf(content)).toEqual(message)
    expect(await seen()).toEqual([message])
    await expect.poll(log).toContain('The tool "fill" failed (error id')
  })

  test.each([
    ['resources/read', { uri: 'fill://20000' }, 'The resource "fill://20000"'],
    ['prompts/get', { name: 'fill', arguments: { characters: '20000' } }, 'The prompt "fill"'],
  ])('%s fails with an error that names the size', async (method, params, subject) => {
    await using client = await connect(urlOf('small'), { revision })
    await expect(client.request(method, params)).rejects.toMatchObject({
      code: -32603,
      message: expect.stringContaining(`${subject} returned 20`),
      data: { bytes: expect.any(Number), maxBytes: 10_000 },
    })
  })

  test('the default is 8 MiB', async () => {
    await using client = await connect(urlOf('plain'), { revision })
    const fits = await client.callTool('fill', { characters: 4_000_000 })
    expect(textOf(fits.content)).toHaveLength(4_000_000)
    server.harness.clearLogs()
    const { isError, content } = await client.callTool('fill', { characters: 20_000_000 })
    expect(isError).toBe(true)
    expect(textOf(content)).toMatch(
      /^The tool "fill" returned 40000\d\d\d bytes of JSON, and this server sends at most 8388608/,
    )
    await expect.poll(() => log().match(/The tool "fill" returned/g)).toHaveLength(1)
  })
})

test('Infinity lifts the limit of a client without a session', async () => {
  await using client = await connect(urlOf('unlimited'), { revision: '2026-07-28' })
  const result = await client.callTool('fill', { characters: 20_000_000 })
  expect(textOf(result.content)).toHaveLength(20_000_000)
})

test.each([
  [
    { characters: 1_500_000, logs: true },
    /^The tool "fill" returned 3000\d\d\d bytes of JSON, and a stream of a session sends at most/,
  ],
  [
    { characters: 20_000_000 },
    /^The tool "fill" returned 40000\d\d\d bytes of JSON, and a response of a session sends at most/,
  ],
])('a session has its own limits: %o', async (args, message) => {
  await using client = await connect(urlOf('unlimited'), { revision: '2025-11-25' })
  const { isError, content } = await client.callTool('fill', args)
  expect(isError).toBe(true)
  expect(textOf(content)).toMatch(message)
})

test('a task has the same limit', async () => {
  await using client = await connect(urlOf('small'), { revision: '2025-11-25' })
  const created = await client.request('tools/call', { name: 'fill', arguments: { characters: 5000 }, task: {} })
  const { taskId } = created.task as { taskId: string } // the result of a call with `task`
  const { isError, content } = await client.request('tasks/result', { taskId })
  expect(isError).toBe(true)
  expect(textOf(content)).toMatch(
    /^The tool "fill" returned 10\d\d\d bytes of JSON, and this server sends at most 10000/,
  )
})
