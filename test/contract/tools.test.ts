import { expect } from 'vitest'
import { behaviour, withServer } from '../support/behaviour.ts'

withServer()

const stateless = (revision: string) => revision >= '2026-07-28'

behaviour('tools are listed page by page, in the order they were declared', async ({ connect, kind }) => {
  const client = await connect()
  const first = await client.request('tools/list')
  const tools = first.tools as { name: string }[]
  expect(tools).toHaveLength(50)
  expect(tools[0]?.name).toBe('echo')
  const names = tools.map((tool) => tool.name)
  for (let cursor = first.nextCursor; cursor !== undefined; ) {
    const page = await client.request('tools/list', { cursor })
    expect(page.tools).not.toEqual([])
    names.push(...(page.tools as { name: string }[]).map((tool) => tool.name))
    cursor = page.nextCursor
  }
  expect(names.length).toBeGreaterThan(100)
  expect(new Set(names).size).toBe(names.length)
  expect(names.filter((name) => name.startsWith('many.'))).toEqual(
    Array.from({ length: 60 }, (_, index) => `many.tool_${index + 1}`),
  )
  expect(names).not.toContain('secret')
  expect(first.ttlMs).toBe(stateless(kind.revision) ? 0 : undefined)
  expect(first.cacheScope).toBe(stateless(kind.revision) ? 'private' : undefined)
  await expect(client.request('tools/list', { cursor: 'made up' })).rejects.toMatchObject({ code: -32602 })
  await expect(client.request('tools/list', { cursor: '' })).rejects.toMatchObject({ code: -32602 })
  await expect(client.request('resources/list', { cursor: first.nextCursor })).rejects.toMatchObject({ code: -32602 })
})

behaviour('a tool is listed with the members of the protocol version', async ({ connect, kind }) => {
  const client = await connect()
  const { tools } = await client.request('tools/list')
  const add = (tools as Record<string, unknown>[]).find((tool) => tool.name === 'add') ?? {}
  const { revision } = kind
  expect(add.description).toBe('Adds two numbers')
  expect(add.inputSchema).toMatchObject({ type: 'object', required: ['a', 'b'] })
  expect('annotations' in add).toBe(revision >= '2025-03-26')
  expect('title' in add).toBe(revision >= '2025-06-18')
  expect('outputSchema' in add).toBe(revision >= '2025-06-18')
  expect('_meta' in add).toBe(revision >= '2025-06-18')
  expect('icons' in add).toBe(revision >= '2025-11-25')
  const words = (tools as Record<string, unknown>[]).find((tool) => tool.name === 'list_words') ?? {}
  const list = { type: 'array', items: { type: 'string' } }
  const wrapped = { type: 'object', properties: { result: list }, required: ['result'] }
  if (revision < '2025-06-18') expect('outputSchema' in words).toBe(false)
  else expect(words.outputSchema).toMatchObject(stateless(revision) ? list : wrapped)
})

behaviour('a tool answers with text', async ({ connect }) => {
  const client = await connect()
  const result = await client.callTool('echo', { text: 'grüße 👋 \u2028 "quoted"\n' })
  expect(result.content).toEqual([{ type: 'text', text: 'grüße 👋 \u2028 "quoted"\n' }])
  expect(result.isError).toBeUndefined()
})

behaviour('structured output is accompanied by its text', async ({ connect, kind }) => {
  const client = await connect()
  const sum = await client.callTool('add', { a: 1, b: 2 })
  expect(sum.content).toEqual([{ type: 'text', text: '{"sum":3}' }])
  expect(sum.structuredContent).toEqual(kind.revision >= '2025-06-18' ? { sum: 3 } : undefined)
  const words = await client.callTool('list_words', { text: 'a b' })
  expect(words.content).toEqual([{ type: 'text', text: '["a","b"]' }])
  const wrapped = kind.revision >= '2025-06-18' ? { result: ['a', 'b'] } : undefined
  expect(words.structuredContent).toEqual(stateless(kind.revision) ? ['a', 'b'] : wrapped)
})

behaviour(
  'structured output of a schema without the type object is wrapped, whatever the value',
  async ({ connect, kind }) => {
    const client = await connect()
    const { revision } = kind
    for (const value of [{ tag: 'object' }, 'text', null]) {
      const { structuredContent } = await client.callTool('union', { value })
      const wrapped = revision >= '2025-06-18' ? { result: value } : undefined
      expect(structuredContent).toEqual(stateless(revision) ? value : wrapped)
    }
  },
)

behaviour('content blocks have the types of the protocol version', async ({ connect, kind }) => {
  const client = await connect()
  const { content } = await client.callTool('blocks')
  const { revision } = kind
  expect(content.map((block) => block.type)).toEqual([
    'text',
    'image',
    revision >= '2025-03-26' ? 'audio' : 'text',
    revision >= '2025-06-18' ? 'resource_link' : 'text',
    'resource',
  ])
  expect(content[3]).toMatchObject(
    revision >= '2025-06-18' ? { uri: 'note://1', name: 'Note 1' } : { text: 'The first note: note://1' },
  )
})

behaviour('a tool that returns nothing has empty content', async ({ connect }) => {
  const client = await connect()
  expect((await client.callTool('nothing')).content).toEqual([])
})

behaviour('errors of a tool go to the model, and errors of a client to the client', async ({ connect }) => {
  const client = await connect()
  expect(await client.callTool('fail')).toMatchObject({
    isError: true,
    content: [{ type: 'text', text: 'It failed' }],
  })
  const invalid = await client.callTool('add', { a: 'one' })
  expect(invalid.isError).toBe(true)
  expect(invalid.content[0]).toMatchObject({ text: expect.stringMatching(/^Invalid arguments for add: a: .*; b: /) })
  await expect(client.callTool('no_such_tool')).rejects.toMatchObject({
    code: -32602,
    message: 'Unknown tool: no_such_tool',
  })
  await expect(client.callTool('secret')).rejects.toMatchObject({ code: -32602, message: 'Unknown tool: secret' })
  await expect(client.callTool('refuse')).rejects.toMatchObject({ code: -32602, data: { why: 'test' } })
  await expect(client.request('tools/call', { name: 5 })).rejects.toMatchObject({ code: expect.any(Number) })
  await expect(client.request('tools/call', { name: 'echo', arguments: [] })).rejects.toMatchObject({ code: -32602 })
})

behaviour('a call without arguments is accepted', async ({ connect }) => {
  const client = await connect()
  expect(await client.request('tools/call', { name: 'nothing' })).toMatchObject({ content: [] })
})
