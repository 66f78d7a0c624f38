/** Subscribers learn that a list of an upstream has changed, when any list or call of their tenant shows it. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { ListChanges } from '../../worker/plugins/compose/proxy/list-changes.ts'
import { connect, type TestClient } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { answerAsAsked, type Stub, startStub, textResult } from './stub.ts'

const tool = (name: string) => ({ name, description: 'd', inputSchema: { type: 'object' } })
const changed = 'notifications/tools/list_changed'

let stub: Stub
let server: TestServer
beforeAll(async () => {
  stub = await startStub()
  server = await startServer('test/compose/changing', { UPSTREAM: stub.url })
})
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  stub?.close()
})
afterEach(() => {
  stub.call = answerAsAsked
})

const changesOf = ({ notifications }: TestClient) => notifications.filter(({ method }) => method === changed).length

describe.each(['2026-07-28', '2025-11-25'])('a subscriber of %s', (revision) => {
  const at = (tenant: string) => connect(server.url, { revision, token: `${tenant}-${revision}` })

  test('is notified when a list of its tenant differs from the one before', async () => {
    stub.tools = [tool('one'), tool('two')]
    await using subscriber = await at('acme')
    await using reader = await at('acme')
    await using foreign = await at('other')
    expect(subscriber.initializeResult.capabilities).toMatchObject({ tools: { listChanged: true } })
    for (const client of [subscriber, foreign]) await client.subscribe({ toolsListChanged: true })
    await foreign.request('tools/list')
    await reader.request('tools/list')
    stub.tools = [tool('two'), tool('one')]
    await reader.request('tools/list')
    expect(changesOf(subscriber)).toBe(0)

    stub.tools = [tool('two'), tool('three')]
    await reader.request('tools/list')
    await subscriber.next(changed)
    const { tools } = (await subscriber.request('tools/list')) as { tools: { name: string }[] }
    expect(tools.map(({ name }) => name)).toEqual(['up_two', 'up_three'])
    expect([changesOf(subscriber), changesOf(foreign)]).toEqual([1, 0])
  })

  test('is notified when the upstream says so during a call', async () => {
    stub.call = ({ id, method, http }, response) => {
      if (http === 'GET' || method === undefined) return response.writeHead(202).end()
      const messages = [{ method: changed }, { id, result: textResult('done') }]
      const events = messages.map((message) => `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`)
      return response.writeHead(200, { 'Content-Type': 'text/event-stream' }).end(events.join(''))
    }
    await using subscriber = await at('calling')
    await subscriber.subscribe({ toolsListChanged: true })
    await subscriber.callTool('up_one')
    await subscriber.next(changed)
  })
})

test('a list that always differs is announced once a minute', () => {
  const changes = new ListChanges()
  const at = (ms: number, name: string) => changes.hasChanged('key', [{ name }], ms)
  expect([at(0, 'a'), at(1, 'b'), at(2, 'c'), at(60_000, 'd'), at(60_001, 'e')]).toEqual([
    false,
    true,
    false,
    false,
    true,
  ])
  expect(changes.hasChanged('other', [], 60_001)).toBe(false)
})
