import { expect, test } from 'vitest'
import { createServer, type Plugin, serve } from '../../worker/index.ts'
import { sessions } from '../../worker/plugins/sessions/index.ts'
import { tasks } from '../../worker/plugins/tasks/index.ts'

const server = createServer({ name: 'placed', version: '1.0.0' })
server.tool('greet', { description: 'Greets' }, () => 'Hello')

test('endpoints of different jurisdictions need different session classes', () => {
  const names = { McpSession: 'PlacedSession' }
  serve(server, { path: '/eu/mcp', durableObjects: { jurisdiction: 'eu', names }, plugins: [sessions()] })
  expect(() => serve(server, { path: '/placed/mcp', durableObjects: { names }, plugins: [sessions()] })).toThrow(
    'Two endpoints with the jurisdictions eu and none share the class PlacedSession: give one its own class with durableObjects.names',
  )
  serve(server, {
    path: '/placed/mcp',
    durableObjects: { names: { McpSession: 'OtherSession' } },
    plugins: [sessions()],
  })
})

test('endpoints without sessions can share a session class that neither uses', () => {
  const durableObjects = { names: { McpSession: 'UnusedSession' } }
  const stateless = { durableObjects } as const
  serve(server, { ...stateless, path: '/open/mcp' })
  const european = { ...stateless, durableObjects: { ...durableObjects, jurisdiction: 'eu' } } as const
  serve(server, { ...european, path: '/closed/mcp' })
  // The class that the Worker exports may be that of an endpoint without sessions.
  expect(() => serve(server, { path: '/third/mcp', durableObjects, plugins: [sessions()] })).toThrow(
    'share the class UnusedSession',
  )
})

test('endpoints of different jurisdictions need different classes for plugins', () => {
  const stateless = { plugins: [tasks()] } as const
  serve(server, {
    ...stateless,
    path: '/tasks/mcp',
    durableObjects: { names: { McpSession: 'TaskSession', McpTask: 'PlacedTask' } },
  })
  expect(() =>
    serve(server, {
      ...stateless,
      path: '/eu/tasks/mcp',
      durableObjects: { jurisdiction: 'eu', names: { McpSession: 'EuTaskSession', McpTask: 'PlacedTask' } },
    }),
  ).toThrow('Two endpoints with the jurisdictions none and eu share the class PlacedTask')
})

test('a change is delivered in each jurisdiction in which its server is served', async () => {
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
      plugins: [sessions(), delivering],
      durableObjects: { names: { McpSession: `${identity}Session` }, ...(jurisdiction && { jurisdiction }) },
    })
  endpoint('anywhere')
  endpoint('european', 'eu')
  await changing.notify.toolsChanged()
  expect(delivered).toEqual(['["anywhere"]', '["european"]'])
})
