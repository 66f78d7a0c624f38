/** A subscription to a template needs what its resources need, however the template is written. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/subscriptions/templates')
})
afterAll(() => server[Symbol.asyncDispose]())

const spellings = [
  'note://x/{id}',
  'note://x/{%69d}',
  'note://%78/{id}',
  'note://x/{i%64}',
  'note://x/%7Bid%7D',
  'log://{id}{?from,to}',
  'log://{%69d}{?from,to}',
  'log://{id}{?from,%74o}',
  'log://{id}{?from,to}{é}',
]

test.each(
  spellings.flatMap((uri) => [
    { uri, revision: '2026-07-28' },
    { uri, revision: '2025-11-25' },
  ]),
)('a caller receives no changes of resources that it may not read: $uri, $revision', async ({ uri, revision }) => {
  await using client = await connect(server.url, { revision, token: crypto.randomUUID() })
  const subscribe = async (resource: string) => client.subscribe({ resourceSubscriptions: [resource] })
  await subscribe('end://1')
  await subscribe(uri).catch(() => {})
  await client.callTool('change')
  const updates = async () =>
    client.notifications
      .filter(({ method }) => method === 'notifications/resources/updated')
      .map(({ params }) => String(params?.uri))
  await expect.poll(updates).toContain('end://1')
  expect((await updates()).filter((changed) => /^note:|[?]from/.test(changed))).toEqual([])
})

test.each(['2026-07-28', '2025-11-25'])(
  'a caller receives the changes of a template that it may read: %s',
  async (revision) => {
    await using client = await connect(server.url, { revision, token: crypto.randomUUID() })
    await client.subscribe({ resourceSubscriptions: ['log://{+any}'] })
    await client.callTool('change')
    await client.next('notifications/resources/updated')
    expect(client.notifications.map(({ params }) => params?.uri)).toContain('log://any/thing')
  },
)
