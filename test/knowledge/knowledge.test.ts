import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type KnowledgeOptions, knowledge } from '../../worker/plugins/knowledge/index.ts'
import type { Principal } from '../../worker/protocol/principal.ts'
import { connect } from '../../worker/testing/index.ts'
import { newServer, result } from '../engine/stage.ts'
import { startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/knowledge/server')
})
afterAll(() => server?.[Symbol.asyncDispose]())

const revisions = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']
const hasStructure = (revision: string) => revision >= '2025-06-18'
const found = { id: 'tea', title: 'Tea', url: 'https://example.com/tea' }
const texts = { id: { type: 'string' }, title: { type: 'string' }, url: { type: 'string' } }

describe.each(revisions)('in %s', (revision) => {
  test('the tools have the names and arguments that ChatGPT expects', async () => {
    await using client = await connect(server.url, { revision })
    const { tools } = (await client.request('tools/list')) as { tools: Record<string, unknown>[] }
    expect(tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }))).toEqual([
      {
        name: 'search',
        description: 'Finds documents by a query, best first. Read a document by its id. The documents are about tea.',
        inputSchema: {
          type: 'object',
          properties: { query: { type: 'string', description: 'Words or a question' } },
          required: ['query'],
        },
      },
      {
        name: 'fetch',
        description:
          'Returns the whole text of a document that a search found, by its id. The documents are about tea.',
        inputSchema: {
          type: 'object',
          properties: { id: { type: 'string', description: 'The id of a document that a search found' } },
          required: ['id'],
        },
      },
    ])
    const hints = { readOnlyHint: true, idempotentHint: true, destructiveHint: false, openWorldHint: false }
    for (const { annotations } of tools) expect(annotations).toEqual(revision >= '2025-03-26' ? hints : undefined)
    expect(tools.map(({ outputSchema }) => outputSchema)).toEqual(
      hasStructure(revision)
        ? [
            {
              type: 'object',
              properties: {
                results: {
                  type: 'array',
                  items: { type: 'object', properties: texts, required: ['id', 'title', 'url'] },
                },
              },
              required: ['results'],
            },
            {
              type: 'object',
              properties: { ...texts, text: { type: 'string' }, metadata: { type: 'object' } },
              required: ['id', 'title', 'url', 'text'],
            },
          ]
        : [undefined, undefined],
    )
  })

  test.each([
    ['search', { query: 'tea' }, { results: [found] }],
    ['search', { query: 'nothing' }, { results: [] }],
    ['fetch', { id: 'tea' }, { ...found, text: 'Boil water.', metadata: { author: 'Ada' } }],
    ['fetch', { id: 'metadata null' }, { ...found, text: 'Boil water.' }],
    [
      'fetch',
      { id: 'metadata inner' },
      { ...found, text: 'Boil water.', metadata: { published: '1970-01-01T00:00:00.000Z' } },
    ],
    ['fetch', { id: 'bare' }, { ...found, id: 'bare', title: 'Bare', text: '' }],
  ])('%s of %j returns one JSON text, and the same value', async (tool, args, value) => {
    await using client = await connect(server.url, { revision })
    const { content, structuredContent, isError } = await client.callTool(tool, args)
    expect(content).toEqual([{ type: 'text', text: expect.any(String) }])
    expect(JSON.parse((content as { text: string }[])[0]?.text ?? '')).toEqual(value)
    expect([structuredContent, isError]).toEqual([hasStructure(revision) ? value : undefined, undefined])
  })

  test.each([
    ['fetch', { id: 'coffee' }, 'Unknown id: coffee. Use the id of a document that a search found'],
    ['fetch', { id: 'null' }, 'Unknown id: null. Use the id of a document that a search found'],
    ['fetch', {}, 'Invalid arguments for fetch: id: must be a text'],
    ['search', { query: 1 }, 'Invalid arguments for search: query: must be a text'],
    ['search', { query: 'throw' }, 'The index is being built'],
    ['search', { query: 'object' }, '"search" of knowledge() returned no list: return one'],
    ['search', { query: 'number' }, '"search" of knowledge() returned a document whose "id" is not a text'],
    ['search', { query: 'null' }, '"search" of knowledge() returned a document whose "id" is not a text'],
    [
      'search',
      { query: 'empty' },
      '"search" of knowledge() returned a document whose "url" is not a URL such as "https://example.com/tea"',
    ],
    ...['relative', 'script', 'spaces', 'lines', 'password'].map((id): [string, Record<string, string>, string] => [
      'fetch',
      { id },
      '"fetch" of knowledge() returned a document whose "url" is not a URL such as "https://example.com/tea"',
    ]),
    ['fetch', { id: 'titleless' }, '"fetch" of knowledge() returned a document whose "title" is not a text'],
    ['fetch', { id: 'text' }, '"fetch" of knowledge() returned a document whose "id" is not a text'],
    ...['', ' date', ' list', ' function'].map((kind): [string, Record<string, string>, string] => [
      'fetch',
      { id: `metadata${kind}` },
      '"fetch" of knowledge() returned a document whose "metadata" is not an object',
    ]),
  ])('%s of %j is an error that says what to do', async (tool, args, text) => {
    await using client = await connect(server.url, { revision })
    expect(await client.callTool(tool, args)).toMatchObject({ content: [{ type: 'text', text }], isError: true })
  })
})

test.each(revisions)('functions get the context of the call, in %s', async (revision) => {
  await using client = await connect(server.url, { revision })
  const { content } = await client.callTool('search', { query: 'client' })
  expect(JSON.parse((content as { text: string }[])[0]?.text ?? '')).toMatchObject({
    results: [{ id: 'edgemcp-testing' }],
  })
})

describe('knowledge()', () => {
  const none: KnowledgeOptions = { search: () => [], fetch: () => undefined }
  const principal: Principal = { issuer: 'https://auth.example', subject: 'ada', scopes: ['read'], claims: {} }
  const namesFor = async (options: Partial<KnowledgeOptions>, caller?: Principal) => {
    const declared = newServer().use(knowledge({ ...none, ...options }))
    const { tools } = await result(declared, 'tools/list', {}, caller ? { principal: caller } : {})
    return (tools as { name: string }[]).map(({ name }) => name)
  }

  test('gives its scopes and its visibility to both tools', async () => {
    expect(await namesFor({})).toEqual(['search', 'fetch'])
    expect(await namesFor({ scopes: ['read'] })).toEqual([])
    expect(await namesFor({ scopes: ['read'] }, principal)).toEqual(['search', 'fetch'])
    expect(await namesFor({ visibleTo: (caller) => caller.principal !== undefined })).toEqual([])
    expect(await namesFor({ visibleTo: (caller) => caller.principal !== undefined }, principal)).toEqual([
      'search',
      'fetch',
    ])
  })

  test.each([
    [undefined, 'knowledge() takes an object with search, fetch, description, scopes, rateLimit and visibleTo'],
    [{ fetch: none.fetch }, '"search" of knowledge() must be a function, not undefined'],
    [{ ...none, fetch: {} }, '"fetch" of knowledge() must be a function, not an object'],
    [{ ...none, description: '' }, '"description" of knowledge() must be a non-empty string, not ""'],
    [{ ...none, scope: ['read'] }, 'knowledge() does not take "scope" (did you mean "scopes"?)'],
    [{ ...none, scopes: 'read' }, `"scopes" of knowledge() must be a list such as ['notes:read'], not "read"`],
    [{ ...none, visibleTo: true }, '"visibleTo" of knowledge() must be a function, not true'],
  ])('does not accept %j', (options, message) => {
    expect(() => knowledge(options as KnowledgeOptions)).toThrow(message)
  })

  test('says which tool a server has twice', () => {
    const searching = newServer()
    searching.tool('search', { description: 'Searches' }, () => 'nothing')
    expect(() => searching.use(knowledge(none))).toThrow('"search"')
  })
})
