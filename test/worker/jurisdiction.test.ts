import { expect, test } from 'vitest'
import { createServer, type Plugin, serve } from '../../worker/index.ts'

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

test('a change is delivered in each jurisdiction that a server is served in', async () => {
  const changing = createServer({ name: 'changing', version: '1.0.0' })
  const delivered: string[] = []
  const delivering: Plugin = {
    name: 'delivering',
    provide: ({ identity }) => ({
      changes: {
        publish: async () => void delivered.push(identity),
        setEnabled: async () => {},
        enabledOverrides: async () => ({}),
      },
    }),
  }
  const endpoint = (identity: string, jurisdiction?: 'eu') =>
    serve(changing, {
      identity,
      plugins: [delivering],
      durableObjects: { names: { McpSession: `${identity}Session` }, ...(jurisdiction && { jurisdiction }) },
    })
  endpoint('anywhere')
  endpoint('european', 'eu')
  await changing.notify.toolsChanged()
  expect(delivered).toEqual(['["anywhere"]', '["european"]'])
})
