/** Prompts, resources and completions of servers elsewhere. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect, everyRevision, type TestClient } from '../../worker/testing/index.ts'
import { sample } from '../support/full.ts'
import { type Behind, startGateway } from './behind.ts'

type Json = Record<string, unknown>

let behind: Behind
beforeAll(async () => {
  behind = await startGateway()
})
afterAll(() => behind?.[Symbol.asyncDispose]())

describe.each(sample(everyRevision, 2))('for clients of %s', (revision) => {
  let client: TestClient
  const answers = { elicit: () => ({ action: 'accept', content: { name: 'Ada' } }) }
  const asks = !['2025-03-26', '2024-11-05'].includes(revision)
  beforeAll(async () => {
    client = await connect(behind.gateway.url, { revision, token: 'ada', answers })
  })
  afterAll(() => client.close())

  const namesOf = async (method: string, list: string, id: string) =>
    ((await client.request(method))[list] as Json[]).map((entry) => entry[id])
  const read = async (uri: string) =>
    ((await client.request('resources/read', { uri })).contents as { text: string }[])[0]?.text
  const prompt = async (name: string, args?: Json) =>
    ((await client.request('prompts/get', { name, ...(args && { arguments: args }) })).messages as Json[])[0]?.content
  const complete = async (ref: Json, name: string, value: string) =>
    (await client.request('completion/complete', { ref, argument: { name, value } })).completion

  test('the server declares the capabilities of its upstreams', () => {
    const completions = revision === '2024-11-05' ? {} : { completions: {} }
    expect(client.initializeResult.capabilities).toEqual({
      ...{ logging: {}, tools: {}, prompts: {}, resources: {} },
      ...completions,
    })
  })

  test('prompts have the prefix of their upstream in lists and prompts/get', async () => {
    expect(await namesOf('prompts/list', 'prompts', 'name')).toEqual([
      ...['newer_greet', 'newer_asks', 'newer_plain'],
      ...['older_plan', 'older_plain'],
    ])
    expect(await prompt('newer_greet', { name: 'Ada' })).toMatchObject({ text: 'Greet Ada' })
    expect(await prompt('older_plan', { day: 'Monday' })).toMatchObject({ text: 'Plan Monday' })
    if (asks) expect(await prompt('newer_asks')).toMatchObject({ text: 'Greet Ada' })
  })

  test('resources keep their URIs in lists and reads', async () => {
    expect(await namesOf('resources/list', 'resources', 'uri')).toEqual([
      ...['about:upstream', 'both://newer', 'about:whoever', 'note://1'],
      'file:///readme',
    ])
    const templates = ['note://{id}', 'log://{day}', 'both://{name}']
    expect(await namesOf('resources/templates/list', 'resourceTemplates', 'uriTemplate')).toEqual(templates)
    expect(await read('about:upstream')).toBe('Newer')
    expect(await read('note://2')).toBe('Note 2')
    expect(await read('file:///readme')).toBe('Older')
    expect(await read('log://Monday')).toBe('Log of Monday')
    if (asks) expect(await read('about:whoever')).toBe('About Ada')
  })

  test('the first of two upstreams with a resource answers', async () => {
    expect(await read('both://newer')).toBe('Newer')
    expect(await read('both://other')).toBe('Older')
  })

  test('the upstreams complete arguments and variables', async () => {
    expect(await complete({ type: 'ref/prompt', name: 'newer_greet' }, 'name', 'A')).toMatchObject({
      values: ['Ada', 'Alan'],
    })
    expect(await complete({ type: 'ref/prompt', name: 'older_plan' }, 'day', 'T')).toMatchObject({
      values: ['Tuesday'],
    })
    expect(await complete({ type: 'ref/resource', uri: 'note://{id}' }, 'id', '')).toMatchObject({ values: ['1', '2'] })
    expect(await complete({ type: 'ref/resource', uri: 'log://{day}' }, 'day', 'M')).toMatchObject({
      values: ['Monday'],
    })
  })

  test('errors have the form of the protocol version', async () => {
    const missing = revision >= '2026-07-28' ? -32602 : -32002
    await expect(client.request('resources/read', { uri: 'note://7' })).rejects.toMatchObject({
      code: missing,
      message: 'Resource not found: note://7',
      data: { uri: 'note://7' },
    })
    await expect(client.request('resources/read', { uri: 'note' })).rejects.toMatchObject({ code: -32602 })
    await expect(client.request('resources/subscribe', { uri: 'note://1' })).rejects.toMatchObject({ code: -32601 })
    await expect(client.request('prompts/get', { name: 'older_nothing' })).rejects.toMatchObject({ code: -32602 })
    await expect(client.request('prompts/get', { name: 'nothing' })).rejects.toMatchObject({
      code: -32602,
      message: 'Unknown prompt: nothing',
    })
    // One that does not answer might have it.
    await expect(client.request('resources/read', { uri: 'nowhere:at-all' })).rejects.toMatchObject({
      code: -32603,
      message: 'The server at 127.0.0.1:9 does not answer',
    })
  })

  test('an unknown entry is "not found" once every upstream has answered', async () => {
    await using mixed = await connect(new URL('/mixed/mcp', behind.gateway.url), { revision, sse: false })
    await expect(mixed.request('resources/read', { uri: 'nowhere:at-all' })).rejects.toMatchObject({
      code: revision >= '2026-07-28' ? -32602 : -32002,
    })
  })

  test('lists that an upstream has no capability for are not requested', async () => {
    await using bare = await connect(new URL('/bare/mcp', behind.gateway.url), { revision, sse: false })
    expect(Object.keys(bare.initializeResult.capabilities as Json).sort()).toEqual(
      revision >= '2026-07-28' ? ['logging', 'tools'] : ['tools'],
    )
    for (const method of ['prompts/list', 'resources/list', 'resources/templates/list']) {
      await expect(bare.request(method)).rejects.toMatchObject({ code: -32601 })
    }
    await expect(bare.request('prompts/get', { name: 'x' })).rejects.toMatchObject({ code: -32601 })
    await expect(bare.request('resources/read', { uri: 'x:y' })).rejects.toMatchObject({ code: -32601 })
    const ref = { type: 'ref/prompt', name: 'x' }
    await expect(
      bare.request('completion/complete', { ref, argument: { name: 'a', value: '' } }),
    ).rejects.toMatchObject({ code: -32601 })
    expect(await bare.callTool('bare')).toMatchObject({ content: [{ text: 'bare' }] })
    expect(behind.bare.asked.filter((method) => /^(?:prompts|resources|completion)/.test(method))).toEqual([])
  })
})

test('the ttlMs of an upstream is passed on', async () => {
  await using client = await connect(behind.gateway.url, { revision: '2026-07-28' })
  const read = (uri: string) => client.request('resources/read', { uri })
  expect(await read('note://1')).toMatchObject({ ttlMs: 1000, cacheScope: 'public' })
  expect(await read('file:///readme')).toMatchObject({ ttlMs: 0, cacheScope: 'private' })
})

test('server/discover is unknown to a session of 2025-11-25', async () => {
  await using client = await connect(behind.gateway.url, { revision: '2025-11-25' })
  await expect(client.request('server/discover')).rejects.toMatchObject({ code: -32601 })
})
