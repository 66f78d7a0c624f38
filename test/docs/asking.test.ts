import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'

const read = (path: string) => readFileSync(resolve(import.meta.dirname, '../..', path), 'utf8')

let server: TestServer
beforeAll(async () => {
  server = await startServer('examples/counter')
})
afterAll(() => server[Symbol.asyncDispose]())

test('the tool that docs/asking.md shows is the one of the example, in less than ten lines', () => {
  const [, shown] = /```ts\n([\s\S]*?)```/.exec(read('docs/asking.md')) as unknown as [string, string]
  expect(read('examples/counter/index.ts')).toContain(shown)
  expect(shown.trimEnd().split('\n').length).toBeLessThan(10)
})

let total = 0
test.each(['2025-06-18', '2025-11-25', '2026-07-28'])('and does what it says for a client of %s', async (revision) => {
  const asked: string[] = []
  const answering = (...contents: (object | undefined)[]) => ({
    elicit({ message }: { message?: unknown }) {
      asked.push(String(message))
      const content = contents.shift()
      return content ? { action: 'accept', content } : { action: 'decline' }
    },
  })
  const count = async (...contents: (object | undefined)[]) => {
    await using client = await connect(server.url, { revision, answers: answering(...contents) })
    const { content } = await client.callTool('count')
    return (content[0] as { text: string }).text
  }
  total += 3
  expect(await count({ by: 3 }, { sure: true })).toBe(`The count is ${total}.`)
  expect(asked).toEqual(['Count up by how much?', 'Really by 3?'])
  expect(await count(undefined)).toBe('Nothing was counted.')
  expect(await count({ by: 5 }, { sure: false })).toBe('Nothing was counted.')
  total += 1
  expect(await count({ by: 1 }, { sure: true })).toBe(`The count is ${total}.`)
})
