import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Answers, connect } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'

const read = (path: string) => readFileSync(resolve(import.meta.dirname, '../..', path), 'utf8')

let counter: TestServer
let others: TestServer
beforeAll(async () => {
  counter = await startServer('examples/counter')
  others = await startServer('test/docs/elicitation')
})
afterAll(async () => {
  await counter[Symbol.asyncDispose]()
  await others[Symbol.asyncDispose]()
})

test('the tool that docs/guides/elicitation.md shows is the one of the example, in less than ten lines; the rest is compiled too', () => {
  const [shown = '', ...rest] = Array.from(
    read('docs/guides/elicitation.md').matchAll(/```ts\n([\s\S]*?)```/g),
    ([, code]) => code,
  )
  expect(read('examples/counter/index.ts')).toContain(shown)
  expect(shown.trimEnd().split('\n').length).toBeLessThan(10)
  const unindented = (code: string) => code.replace(/^ +/gm, '')
  const compiled = unindented(read('test/docs/elicitation/index.ts'))
  expect(rest).toHaveLength(2)
  for (const paragraph of rest.join('\n').split(/\n\n/)) expect(compiled).toContain(unindented(paragraph.trim()))
})

test('a model calls the tool that it is shown with', async () => {
  const weathers: unknown[] = []
  const answers: Answers = {
    sample({ messages }) {
      const last = [(messages as { content: object | object[] }[]).at(-1)?.content].flat() as { content?: unknown }[]
      const said = { role: 'assistant', model: 'm' }
      if (last[0]?.content) {
        weathers.push(last[0].content)
        return { ...said, content: { type: 'text', text: 'A coat' } }
      }
      return { ...said, content: [{ type: 'tool_use', id: '1', name: 'weather', input: { city: 'Oslo' } }] }
    },
  }
  const capabilities = { sampling: { tools: {} } }
  for (const revision of ['2025-11-25', '2026-07-28']) {
    await using client = await connect(others.url, { revision, answers, capabilities })
    expect((await client.callTool('pack')).content).toEqual([{ type: 'text', text: 'A coat' }])
  }
  expect(weathers).toEqual(Array(2).fill([{ type: 'text', text: 'snow' }]))
})

describe.each([
  ['plain', () => counter, 'count'],
  ['raw', () => others, 'count_raw'],
])('the %s form', (_, server, tool) => {
  let total = 0
  test.each(['2025-06-18', '2025-11-25', '2026-07-28'])('does what it says for a client of %s', async (revision) => {
    const asked: string[] = []
    const accepting =
      (content: object | undefined) =>
      ({ message }: { message?: unknown }) => {
        asked.push(String(message))
        return content ? { action: 'accept', content } : { action: 'decline' }
      }
    const count = async (...contents: (object | undefined)[]) => {
      const answers = { elicit: contents.map(accepting) }
      await using client = await connect(server().url, { revision, answers })
      const { content } = await client.callTool(tool)
      expect(client.unusedAnswers).toEqual([])
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
})
