import { expect, test } from 'vitest'
import { createServer, serve } from '../../worker/index.ts'

const server = createServer({ name: 'placed', version: '1.0.0' })
server.tool('greet', { description: 'Greets' }, () => 'Hello')

test('endpoints of different jurisdictions need session classes of their own', () => {
  const names = { McpSession: 'PlacedSession' }
  serve(server, { path: '/eu/mcp', durableObjects: { jurisdiction: 'eu', names } })
  serve(server, { path: '/eu/2/mcp', durableObjects: { jurisdiction: 'eu', names } })
  expect(() => serve(server, { path: '/placed/mcp', durableObjects: { names } })).toThrow(
    'Two endpoints with the jurisdictions eu and none share the class PlacedSession: give one of them a class of its own with durableObjects.names',
  )
  serve(server, { path: '/placed/mcp', durableObjects: { names: { McpSession: 'OtherSession' } } })
})
