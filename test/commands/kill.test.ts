import { expect, test, vi } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { events } from '../../worker/testing/wire.ts'
import { exampleProcess } from '../support/process.ts'

test('a conversation goes on where it was when the whole process is killed between any two of its rounds', async () => {
  await using server = await exampleProcess('confirm')
  await server.start()
  const headers: Record<string, string> = {
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
  }
  const post = (message: object) =>
    fetch(server.url, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', ...message }) })
  const opened = await post({
    id: 1,
    method: 'initialize',
    params: {
      protocolVersion: '2025-11-25',
      capabilities: { elicitation: {} },
      clientInfo: { name: 'test', version: '1' },
    },
  })
  headers['Mcp-Session-Id'] = opened.headers.get('Mcp-Session-Id') as string

  const call = { id: 2, method: 'tools/call', params: { name: 'transfer', arguments: { to: 'Ada', amount: 5 } } }
  let stream = events(await post(call))
  const seen: string[] = []
  let lastId = ''
  async function next(): Promise<{ id?: unknown; method?: string; result?: { content: { text: string }[] } }> {
    for (;;) {
      const { value } = await stream.next()
      if (!value) throw new Error('The stream ended')
      lastId = value.id ?? lastId
      if (value.id && value.data) seen.push(value.id)
      if (value.data) return JSON.parse(value.data)
    }
  }
  async function restart(): Promise<void> {
    await server.kill()
    await stream.return(undefined).catch(() => {})
    await server.start()
    stream = events(await fetch(server.url, { headers: { ...headers, 'Last-Event-ID': lastId } }))
  }

  for (const content of [{ sure: true }, { note: 'rent' }]) {
    const question = await next()
    expect(question.method).toBe('elicitation/create')
    await restart()
    expect((await post({ id: question.id, result: { action: 'accept', content } })).status).toBe(202)
  }
  const { result } = await next()
  expect(result?.content[0]?.text).toMatch(/^Transferred 5 to Ada, receipt [\da-f-]{36} \(rent\)\.$/)
  // Each event once, and in order, over three connections to three processes.
  expect(seen).toEqual(['1.1', '1.2', '1.3'])
}, 120_000)

test('a session that lapses after the process was killed is registered for changes no more', async () => {
  await using server = await exampleProcess('../test/serve/lapsing')
  await server.start()
  const registered = async () =>
    (await fetch(new URL('/registered', server.url))).json() as Promise<{ topic: string }[]>
  const client = await connect(server.url, { revision: '2025-11-25' })
  await client.request('resources/subscribe', { uri: 'note://1' })
  expect((await registered()).map(({ topic }) => topic)).toContain('resource:note://1')
  await server.kill()
  await server.start()
  await vi.waitFor(async () => expect(await registered()).toEqual([]), { timeout: 30_000, interval: 200 })
}, 120_000)
