/** A stream ends before its cursor is older than the log. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { EventStreamReader } from '../../worker/client/event-stream-reader.ts'
import { events } from '../../worker/client/wire.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { statelessHeaders } from '../support/stateless.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/events/server', { LOG_AGE: '1m' })
})
afterAll(() => server?.[Symbol.asyncDispose]())

type Message = { method?: string; params?: { cursor: string; truncated?: boolean }; result?: object }

const _meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'reader', version: '1' },
}

async function* stream(cursor: string | null): AsyncGenerator<Message> {
  const params = { name: 'order.paid', arguments: { shop: 'quiet' }, cursor, _meta }
  const response = await fetch(server.url, {
    method: 'POST',
    headers: statelessHeaders('events/stream'),
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'events/stream', params }),
  })
  for await (const { data } of events(response, undefined, new EventStreamReader())) if (data) yield JSON.parse(data)
}

test('the client of streams without events misses nothing, however many it opens one after the other', async () => {
  let cursor: string | null = null
  for (const _ of [1, 2, 3, 4]) {
    const messages: Message[] = []
    for await (const message of stream(cursor)) messages.push(message)
    expect(messages.map(({ method, result }) => method ?? result)).toEqual([
      'notifications/events/active',
      'notifications/events/heartbeat',
      expect.objectContaining({ resultType: 'complete' }),
    ])
    expect(messages[0]?.params).toMatchObject({ truncated: false })
    cursor = messages[1]?.params?.cursor ?? null
  }
}, 200_000)
