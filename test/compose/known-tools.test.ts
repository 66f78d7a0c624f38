import { expect, test, vi } from 'vitest'
import { KnownTools } from '../../worker/plugins/compose/proxy/known-tools.ts'
import { offeredIn } from '../../worker/plugins/compose/proxy/offered.ts'

const inputSchema = { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } }
const mirrored = [{ header: 'Region', path: ['region'], type: 'string' }]
const headers = { 'X-Key': 'ada' }

test('the latest twenty thousand tools are stored, those of every key counted', () => {
  const known = new KnownTools()
  known.learn(headers, [{ name: 'first', inputSchema }])
  expect(known.get(headers, 'first')).toMatchObject({ mirrored })
  expect(known.get({ 'X-Key': 'bob' }, 'first')).toBeUndefined()
  known.learn(
    { 'X-Key': 'bob' },
    Array.from({ length: 19_999 }, (_, index) => ({ name: `plain${index}`, inputSchema: {} })),
  )
  expect(known.get(headers, 'first')).toMatchObject({ mirrored })
  known.learn(
    { 'X-Key': 'cid' },
    Array.from({ length: 20_000 }, (_, index) => ({ name: `other${index}`, inputSchema })),
  )
  expect(known.get(headers, 'first')).toBeUndefined()
  expect(known.get({ 'X-Key': 'cid' }, 'other0')).toMatchObject({ mirrored })
})

test('the names and mirrored arguments of all tools, those of every key counted, have two million characters', () => {
  const known = new KnownTools()
  const leaves = Array.from({ length: 100 }, (_, at) => [`${at}`, { type: 'string', 'x-mcp-header': `H${at}` }])
  let deep: object = { properties: Object.fromEntries(leaves) }
  for (let depth = 0; depth < 480; depth += 1) deep = { properties: { a: deep } }
  const keyed = (index: number) => ({ 'X-Key': `${index}` })
  const keys = Array.from({ length: 30 }, (_, index) => index)
  for (const index of keys) known.learn(keyed(index), [{ name: 'deep', inputSchema: deep }])
  const kept = keys.flatMap((index) => known.get(keyed(index), 'deep') ?? [])
  expect(kept.length).toBeGreaterThan(1)
  expect(JSON.stringify(kept.map((tool) => tool.mirrored)).length).toBeLessThanOrEqual(2_000_000)
  expect(known.get(keyed(29), 'deep')?.mirrored).toHaveLength(100)

  known.learn(headers, [{ name: 'x'.repeat(2_000_000), inputSchema }])
  expect(known.get(headers, 'x'.repeat(2_000_000))).toBeUndefined()
  expect(known.get(keyed(29), 'deep')?.mirrored).toHaveLength(100)
})

test('mirrored arguments that are too long to be stored are not written as JSON', () => {
  const leaves = Array.from({ length: 100 }, (_, at) => [`${at}`, { type: 'string', 'x-mcp-header': `H${at}` }])
  const properties = { ['x'.repeat(250_000)]: { properties: Object.fromEntries(leaves) } }
  const known = new KnownTools()
  known.learn(headers, [{ name: 'long', inputSchema: {} }])
  const writing = vi.spyOn(JSON, 'stringify')
  known.learn(headers, [{ name: 'long', inputSchema: { properties } }])
  const written = writing.mock.results.map(({ value }) => String(value).length)
  writing.mockRestore()
  expect(Math.max(...written)).toBeLessThan(250_000)
  expect(known.get(headers, 'long')).toBeUndefined()
})

test('the tools of the latest thousand keys are stored', () => {
  const known = new KnownTools()
  const keyed = (index: number) => ({ 'X-Key': `${index}` })
  for (let index = 0; index <= 1000; index += 1) known.learn(keyed(index), [{ name: 'a', inputSchema }])
  expect(known.get(keyed(1), 'a')).toMatchObject({ mirrored })
  expect(known.get(keyed(0), 'a')).toBeUndefined()
})

test('a tool that loses its annotations and mirrored arguments is called without them', () => {
  const known = new KnownTools()
  known.learn(headers, [{ name: 'a', inputSchema, annotations: { readOnlyHint: true } }])
  expect(known.get(headers, 'a')).toMatchObject({ isSafeToRetry: true, mirrored })
  known.learn(headers, [{ name: 'a', inputSchema: {} }])
  expect(known.get(headers, 'a')).toMatchObject({ isSafeToRetry: false, mirrored: [] })
})

test('of two tools with one name, the first is called, which lists contain', () => {
  const known = new KnownTools()
  known.learn(headers, [
    { name: 'a', inputSchema },
    { name: 'a', inputSchema: {}, annotations: { readOnlyHint: true } },
  ])
  expect(known.get(headers, 'a')).toMatchObject({ isSafeToRetry: false, mirrored })
})

test('of an output schema, only the type object is kept', () => {
  const known = new KnownTools()
  const types = ['object', ['object', 'null'], { long: 'x'.repeat(100_000) }, undefined]
  known.learn(
    {},
    types.map((type, at) => ({ name: `${at}`, inputSchema, outputSchema: { type, properties: {} } })),
  )
  const kept = types.map((_, at) => known.get({}, `${at}`)?.outputSchema)
  expect(kept).toEqual([{ type: 'object' }, {}, {}, {}])
})

test('of capabilities, only whether an upstream has those that are used is kept', () => {
  const declared = { tools: {}, logging: { large: 'x'.repeat(100_000) }, prompts: null, experimental: { a: {} } }
  expect([...offeredIn(declared)]).toEqual(['tools', 'logging'])
  expect([...offeredIn('tools')]).toEqual([])
})
