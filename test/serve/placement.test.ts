import { expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { startServer } from '../support/server.ts'

test('a server with a jurisdiction runs locally, where jurisdictions do not exist', async () => {
  await using server = await startServer('test/serve/placed')
  await using client = await connect(server.url, { revision: '2025-11-25' })
  await client.subscribe({ resourceSubscriptions: ['note://1'] })
  await client.callTool('touch')
  expect((await client.next('notifications/resources/updated')).params).toEqual({ uri: 'note://1' })
})
