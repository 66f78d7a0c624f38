import { expect } from 'vitest'
import { behaviour, withServer } from '../support/behaviour.ts'

withServer()

behaviour('prompts are listed with their arguments', async ({ connect, kind }) => {
  const client = await connect()
  const { prompts } = (await client.request('prompts/list')) as { prompts: Record<string, unknown>[] }
  expect(prompts.map(({ name }) => name)).toEqual(['review', 'ask'])
  expect(prompts[0]?.arguments).toEqual([
    { name: 'language', description: 'Which language', required: true },
    { name: 'code', required: false },
  ])
  expect(prompts[0]?.title).toBe(kind.revision >= '2025-06-18' ? 'Review' : undefined)
})

behaviour('prompts/get inserts the arguments into the prompt', async ({ connect }) => {
  const client = await connect()
  const result = await client.request('prompts/get', { name: 'review', arguments: { language: 'Rust', code: 'x' } })
  expect(result.description).toBe('Reviews code')
  expect(result.messages).toEqual([{ role: 'user', content: { type: 'text', text: 'Review this Rust: x' } }])
})

behaviour('wrong prompts and arguments are refused', async ({ connect }) => {
  const client = await connect()
  for (const params of [
    { name: 'none' },
    { name: 'review' },
    { name: 'review', arguments: { language: 1 } },
    { name: 'review', arguments: 'Rust' },
  ]) {
    await expect(client.request('prompts/get', params)).rejects.toMatchObject({ code: -32602 })
  }
})

behaviour('arguments of prompts and variables of templates are completed', async ({ connect, kind }) => {
  const client = await connect()
  const complete = async (ref: object, name: string, value: string, context?: object) =>
    (await client.request('completion/complete', { ref, argument: { name, value }, ...(context && { context }) }))
      .completion
  const prompt = { type: 'ref/prompt', name: 'review' }
  expect(await complete(prompt, 'language', 'ru')).toEqual({ values: ['rust', 'ruby'], total: 2, hasMore: false })
  expect(await complete(prompt, 'code', '')).toEqual({ values: [], hasMore: false })
  const template = { type: 'ref/resource', uri: 'note://{id}' }
  expect(await complete(template, 'id', '1')).toMatchObject({ values: ['1', '10'] })
  if (kind.revision >= '2025-06-18') {
    expect(await complete(prompt, 'language', '', { arguments: { code: 'x' } })).toMatchObject({ values: ['known'] })
  }
  await expect(complete(prompt, 'colour', '')).rejects.toMatchObject({ code: -32602 })
  await expect(complete({ type: 'ref/prompt', name: 'none' }, 'a', '')).rejects.toMatchObject({ code: -32602 })
  await expect(complete({ type: 'ref/other' }, 'a', '')).rejects.toMatchObject({ code: -32602 })
  expect('completions' in (client.initializeResult.capabilities as object)).toBe(kind.revision >= '2025-03-26')
})
