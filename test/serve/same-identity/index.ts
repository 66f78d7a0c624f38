/** Endpoints of one identity: one server on two hosts at one path, and on two paths with the option `identity`. Their plugins and options differ. */
import { createServer, McpError, type Plugin, serve } from 'edgemcp'
import { combine, routeByHost } from 'edgemcp/compose'
import { jsonSchema } from 'edgemcp/json-schema'
import { rateLimit } from 'edgemcp/rate-limit'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'

const serverNamed = (name: string) => {
  const server = createServer({ name, version: '1.0.0', jsonSchema })
  server.tool('secret', { description: 'Returns a secret' }, () => 'the secret')
  server.tool('fail', { description: 'Fails' }, () => {
    throw new Error('internal detail')
  })
  server.tool('take', { description: 'Takes a text', inputSchema: { type: 'object' } }, () => 'taken')
  return server
}

const guard: Plugin = {
  name: 'guard',
  interceptor: () => (call, next) => {
    if (call.params.name === 'secret') throw new McpError('forbidden', 'The guard refuses')
    return next()
  },
}

const byHost = serverNamed('by-host')
const guarded = serve(byHost, { plugins: [sessions(), guard, rateLimit({ arguments: 50 })], handlerErrors: 'generic' })
const open = serve(byHost, { plugins: [rateLimit()] })

const byPath = serverNamed('by-path')
const durableObjects = { names: { McpSession: 'PathSession' } }
const first = serve(byPath, {
  path: '/first/mcp',
  identity: 'one',
  durableObjects,
  plugins: [sessions(), guard, rateLimit({ arguments: 50 })],
  handlerErrors: 'generic',
})
/** Older clients could neither subscribe nor hear of changes here. */
const told = serve(serverNamed('told'), { path: '/told/mcp', plugins: [subscriptions()] })

const second = serve(byPath, { path: '/second/mcp', identity: 'one', durableObjects })

export const { McpSession } = guarded
export const { McpSession: PathSession } = first
export const { McpSubscriptions } = told
export default combine(told, first, second, routeByHost({ '127.0.0.1': guarded, localhost: open }))
