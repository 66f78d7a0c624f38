import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Answers, connect } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { unwrapped } from './compile.ts'

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

/** The `ts` blocks of a page. */
const blocksOf = (page: string) => Array.from(read(page).matchAll(/```ts\n([\s\S]*?)```/g), ([, code = '']) => code)

test('docs/guides/elicitation.md shows the counter example, a tool of less than ten lines, and its code compiles', () => {
  const [shown = '', ...others] = blocksOf('docs/guides/elicitation.md')
  const example = read('examples/counter/index.ts')
  expect(unwrapped(example)).toContain(unwrapped(shown))
  const [tool = ''] = /^server\.tool\([\s\S]*?^\}\)$/m.exec(example) ?? []
  expect(tool).toContain('ctx.elicit')
  expect(tool.split('\n').length).toBeLessThan(10)
  const [order = '', ...loops] = blocksOf('docs/guides/replay.md')
  const compiled = unwrapped(read('test/docs/elicitation/index.ts'))
  expect(others).toHaveLength(9)
  expect(loops).toHaveLength(1)
  for (const paragraph of [...others, order].join('\n').split(/\n\n/)) {
    expect(compiled).toContain(unwrapped(paragraph))
  }
})

const accept = (content: object) => ({ action: 'accept', content })

describe.each(['2025-11-25', '2026-07-28'])('the examples, for a client of %s,', (revision) => {
  const textOf = async (answers: Answers, tool: string, args = {}, capabilities?: object) => {
    await using client = await connect(others.url, { revision, answers, ...(capabilities && { capabilities }) })
    const { content } = await client.callTool(tool, args)
    return (content[0] as { text: string }).text
  }

  test('show a form with the fields of its schema', async () => {
    const forms: unknown[] = []
    const elicit: Answers['elicit'] = ({ requestedSchema }) => {
      forms.push((requestedSchema as { properties: unknown }).properties)
      return accept({ street: 'Main Street 1' })
    }
    expect(await textOf({ elicit }, 'ship')).toBe('Shipped to Main Street 1, standard delivery.')
    expect(forms).toMatchObject([
      {
        street: { type: 'string', description: 'Street and number' },
        mail: { format: 'email' },
        speed: { enum: ['standard', 'express'] },
        gift: { type: 'boolean' },
      },
    ])
    expect(await textOf({ elicit: () => ({ action: 'decline' }) }, 'ship')).toBe('Nothing was shipped.')
    expect(await textOf({}, 'ship')).toBe('This client cannot show forms.')
  })

  test('require the user to visit a URL first', async () => {
    const account = `of ${revision}`
    const answers: Answers = { elicit: () => ({ action: 'accept' }) }
    const capabilities = { elicitation: { url: {} } }
    const first = textOf(answers, 'import_contacts', { account }, capabilities)
    if (revision === '2025-11-25') await expect(first).rejects.toMatchObject({ code: -32042 })
    else expect(await first).toBe('Finish on the page, then call this tool again.')
    await using page = await connect(others.url, { revision })
    await page.callTool('connect', { account })
    expect(await textOf(answers, 'import_contacts', { account }, capabilities)).toBe(
      `Imported the contacts of ${account}.`,
    )
  })

  test('request sampling, roots and several inputs', async () => {
    const sample: Answers['sample'] = () => ({
      role: 'assistant',
      model: 'm',
      content: { type: 'text', text: 'Oslo' },
    })
    const roots: Answers['roots'] = () => ({ roots: [{ uri: 'file:///a', name: 'a' }, { uri: 'file:///b' }] })
    expect(await textOf({ sample }, 'summarize')).toBe('Oslo')
    expect(await textOf({ roots }, 'list_folders')).toBe('a, file:///b')
    expect(await textOf({ sample, elicit: () => accept({ days: 2 }) }, 'plan_trip')).toBe('2 days in Oslo')
  })

  test('run their effects once', async () => {
    const asked: unknown[] = []
    const elicit: Answers['elicit'] = ({ message }) => {
      asked.push(message)
      return accept({ sure: true })
    }
    const [price, order] = revision === '2025-11-25' ? [5, 1] : [6, 2]
    expect(await textOf({ elicit }, 'order_tea')).toBe(`Order ${order} at ${price} costs ${price} EUR.`)
    expect(asked).toEqual([`Order tea for ${price} EUR?`])
  })
})

test('the example lets a model call the tool that it defines', async () => {
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
])('the counter example in the %s form', (_, server, tool) => {
  let total = 0
  test.each(['2025-06-18', '2025-11-25', '2026-07-28'])('adds to the count for a client of %s', async (revision) => {
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
    expect(asked).toEqual(['Add how much to the count?', 'Add 3?'])
    expect(await count(undefined)).toBe('The count did not change.')
    expect(await count({ by: 5 }, { sure: false })).toBe('The count did not change.')
    total += 1
    expect(await count({ by: 1 }, { sure: true })).toBe(`The count is ${total}.`)
  })
})
