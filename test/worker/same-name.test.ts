import { expect, test } from 'vitest'
import { createServer, serve } from '../../worker/index.ts'
import { subscriptions } from '../../worker/plugins/subscriptions/index.ts'

const plugins = [subscriptions()]
const named = () => createServer({ name: 'same name', version: '1.0.0' })

test('two servers of the same name cannot deliver changes through one class', () => {
  const server = named()
  serve(server, { path: '/one/mcp', plugins })
  // One server shares its changes among all its endpoints.
  serve(server, { path: '/tenant/mcp', plugins })
  expect(() => serve(named(), { path: '/two/mcp', plugins })).toThrow(
    'Two servers with the name "same name" share the class McpSubscriptions, so clients of one would receive changes of the other: give one another name, or its own class with durableObjects.names',
  )
  // It has no endpoint now.
  serve(server, { path: '/two/mcp', plugins })
  serve(named(), { path: '/own/mcp', plugins, durableObjects: { names: { McpSubscriptions: 'OtherSubscriptions' } } })
  serve(named(), { path: '/silent/mcp' })
  serve(createServer({ name: 'another name', version: '1.0.0' }), { path: '/three/mcp', plugins })
})

test('an endpoint may be made again with a new server', () => {
  const remade = () => createServer({ name: 'made again', version: '1.0.0' })
  serve(remade(), { path: '/again/mcp', plugins })
  serve(remade(), { path: '/again/mcp', plugins })
})
