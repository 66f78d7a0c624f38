import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { connect, everyRevision, type TestClient } from '../../worker/testing/index.ts'
import { sample } from '../support/full.ts'
import type { TestServer } from '../support/server.ts'
import { type Behind, startGateway } from './behind.ts'

type Json = Record<string, unknown>

let behind: Behind
let gateway: TestServer
beforeAll(async () => {
  behind = await startGateway()
  gateway = behind.gateway
})
afterAll(() => behind?.[Symbol.asyncDispose]())

const textOf = async (client: TestClient, name: string, args: Json = {}) =>
  ((await client.callTool(name, args)).content as { text: string }[])[0]?.text

describe.each(sample(everyRevision, 2))('for clients of %s', (revision) => {
  let client: TestClient
  const names = ['Ada', 'Grace']
  const answers = { elicit: () => ({ action: 'accept', content: { name: names.shift() } }) }
  beforeAll(async () => {
    client = await connect(gateway.url, { revision, token: 'ada', answers })
  })
  afterAll(() => client.close())

  test('tools of upstreams of every version are listed, without an upstream that does not answer', async () => {
    expect(client.initializeResult.capabilities).toMatchObject({ tools: {} })
    const { tools } = (await client.request('tools/list')) as { tools: { name: string; inputSchema: Json }[] }
    expect(tools.map(({ name }) => name)).toEqual([
      ...['newer_echo', 'newer_who', 'newer_asks', 'newer_where', 'newer_refuses', 'newer_fails'],
      'older_add',
    ])
    expect(tools[0]?.inputSchema).toMatchObject({ properties: { text: { type: 'string' } } })
  })

  test('upstream tools are called with the configured headers and the trace context', async () => {
    expect(await textOf(client, 'newer_echo', { text: 'hi' })).toBe('hi')
    expect(await textOf(client, 'older_add', { a: 1, b: 2 })).toBe('3')
    expect(await textOf(client, 'newer_who')).toBe('ada ')
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const traced = await client.request('tools/call', { name: 'newer_who', arguments: {}, _meta: { traceparent } })
    expect(traced.content).toMatchObject([{ text: `ada ${traceparent}` }])
  })

  test('upstream tools are called with their mirrored arguments in headers', async () => {
    expect(await textOf(client, 'newer_where', { region: 'Zürich' })).toBe('Zürich')
  })

  test('input requests of upstreams reach the caller, and each of their rounds runs once', async () => {
    const asks = !['2025-03-26', '2024-11-05'].includes(revision)
    const said = await textOf(client, 'newer_asks')
    if (!asks) return expect(said).toBe('This call needs a client that supports elicitation')
    expect(said).toMatch(/^Ada and Grace, \d+$/)
    expect(names).toEqual([])
  })

  test('errors of upstreams are passed on unchanged', async () => {
    await expect(client.callTool('newer_refuses')).rejects.toMatchObject({
      code: -32602,
      message: 'Not so',
      data: { reason: 'test' },
    })
    expect(await client.callTool('newer_fails')).toMatchObject({ isError: true, content: [{ text: 'It broke' }] })
    await expect(client.callTool('newer_nothing')).rejects.toMatchObject({ code: -32602 })
    await expect(client.callTool('nothing')).rejects.toMatchObject({ code: -32602, message: 'Unknown tool: nothing' })
    await expect(client.callTool('nobody_echo')).rejects.toMatchObject({
      code: -32603,
      message: 'The server at 127.0.0.1:9 does not answer',
    })
  })

  test('a session that an upstream has deleted is replaced', async () => {
    expect(await textOf(client, 'older_add', { a: 1, b: 2 })).toBe('3')
    const { sessions } = behind.older
    const before = sessions.size
    expect(before).toBeGreaterThan(0)
    sessions.clear()
    expect(await textOf(client, 'older_add', { a: 2, b: 2 })).toBe('4')
    expect(sessions.size).toBe(1)
  })
})

test('each caller calls the upstream with its own credentials', async () => {
  await using ada = await connect(gateway.url, { revision: '2026-07-28', token: 'ada' })
  await using eve = await connect(gateway.url, { revision: '2026-07-28', token: 'eve' })
  await using nobody = await connect(gateway.url, { revision: '2026-07-28' })
  expect(await textOf(ada, 'newer_who')).toBe('ada ')
  expect(await textOf(eve, 'newer_who')).toBe('eve ')
  expect(await textOf(nobody, 'newer_who')).toBe('undefined ')
})

test('an upstream that does not answer is logged', async () => {
  await using client = await connect(gateway.url, { revision: '2026-07-28' })
  await client.request('tools/list')
  const logs = () => gateway.harness.getLogs().map(({ message }) => message)
  await vi.waitFor(() => expect(logs().join('\n')).toContain('The server at 127.0.0.1:9 does not answer'))
})
