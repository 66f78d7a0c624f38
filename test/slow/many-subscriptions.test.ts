import { expect, test } from 'vitest'
import * as bounds from '../../worker/protocol/bounds.ts'
import { connect, type TestClient } from '../../worker/testing/index.ts'
import { startServer } from '../support/server.ts'

const subscribe = (client: TestClient, uri: string) => client.request('resources/subscribe', { uri })

const full = {
  status: 429,
  code: -32600,
  message: 'Too many subscriptions: unsubscribe from a resource, or wait 60 seconds, then try again',
  data: { retryAfter: 60, reason: 'subscriptions' },
}

test('a session can subscribe to a limited number of resources', async () => {
  await using server = await startServer('test/serve/crowded')
  await using client = await connect(server.url, { revision: '2025-11-25' })
  for (let start = 0; start < bounds.sessionSubscriptions; start += 50) {
    await Promise.all(Array.from({ length: 50 }, (_, index) => subscribe(client, `note://${start + index}`)))
  }
  await expect(subscribe(client, 'note://another')).rejects.toMatchObject(full)
  await subscribe(client, 'note://1')
  await client.request('resources/unsubscribe', { uri: 'note://2' })
  await subscribe(client, 'note://another')
})
