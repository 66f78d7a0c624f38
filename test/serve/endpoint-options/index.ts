/** One server at several addresses, with options of their own. */

import { createServer, serve } from 'edgemcp'
import { combine } from 'edgemcp/compose'
import { rateLimit } from 'edgemcp/rate-limit'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'
import * as z from 'zod'
import type { SessionRpc } from '../../../durable-objects/session/rpc.ts'

const server = createServer({ name: 'endpoints', version: '1.0.0' })

const released = new Set<string>()
const Key = z.object({ key: z.string() })
server.tool('wait', { description: 'Runs until it is released', inputSchema: Key }, async ({ key }) => {
  // The runtime ends a request that waits for nothing but another request.
  while (!released.has(key)) await scheduler.wait(5)
  return 'waited'
})
server.tool('release', { description: 'Releases a call of `wait`', inputSchema: Key }, ({ key }) => {
  released.add(key)
  return 'released'
})
server.tool('count', { description: 'Tells of ten steps' }, (_, ctx) => {
  for (let step = 1; step <= 10; step++) ctx.progress(step, 10)
  return 'counted'
})
server.tool('fill', { description: 'Returns a large text' }, () => 'x'.repeat(200_000))
server.tool('pause', { description: 'Takes 400 ms' }, async (_, { signal }) => {
  await scheduler.wait(400, { signal })
  return 'paused'
})
server.tool('record', { description: 'Sends a log message' }, (_, ctx) => {
  ctx.log('info', 'recorded')
  return 'recorded'
})
const note = server.resource('note://1', { description: 'A note' }, () => 'a note')
server.tool('touch', { description: 'Changes the note' }, async () => {
  await note.updated()
  return 'touched'
})
/** Milliseconds until the alarm that was set last by a session. */
let alarmInMs: number | undefined
server.tool('alarm', { description: 'Says when the session is over, unless it is used' }, () => String(alarmInMs))

const minute = 60_000

/** The address of an endpoint, and classes of its own. */
const at = (name: string) => {
  const prefix = `${name[0]?.toUpperCase()}${name.slice(1)}`
  return { path: `/${name}/mcp`, durableObjects: { names: { McpSession: `${prefix}Session` } } }
}
const withSubscriptions = (name: string) => {
  const { path, durableObjects } = at(name)
  const { McpSession } = durableObjects.names
  const McpSubscriptions = McpSession.replace('Session', 'Subscriptions')
  return { path, durableObjects: { names: { McpSession, McpSubscriptions } } }
}

const quick = serve(server, {
  ...at('quick'),
  limits: { streamAfterMs: 10 },
  plugins: [sessions({ ttl: 60 * minute, log: { maxEvents: 2, maxResponses: 1 } })],
})
const slow = serve(server, { ...at('slow'), limits: { streamAfterMs: minute }, plugins: [sessions()] })
const telling = serve(server, {
  ...withSubscriptions('telling'),
  plugins: [sessions(), subscriptions({ listenersEach: 1, listenersPerAddress: 1 })],
})
const crowded = serve(server, {
  ...withSubscriptions('crowded'),
  plugins: [sessions(), subscriptions({ listenersPerAddress: 3 })],
})
const silent = serve(server, { ...at('silent'), plugins: [sessions()] })
const short = serve(server, { ...at('short'), plugins: [sessions(), rateLimit({ time: '50ms' })] })
const long = serve(server, { ...at('long'), plugins: [sessions(), rateLimit({ time: minute })] })
const unlimited = serve(server, { ...at('unlimited'), plugins: [sessions()] })

export class QuickSession extends quick.McpSession {
  override async post(...post: Parameters<SessionRpc['post']>) {
    const posted = await super.post(...post)
    const alarm = await this.ctx.storage.getAlarm()
    if (alarm !== null) alarmInMs = alarm - Date.now()
    return posted
  }
}
export const { McpSession: SlowSession } = slow
export const { McpSession: TellingSession, McpSubscriptions: TellingSubscriptions } = telling
export const { McpSession: CrowdedSession, McpSubscriptions: CrowdedSubscriptions } = crowded
export const { McpSession: SilentSession } = silent
export const { McpSession: ShortSession } = short
export const { McpSession: LongSession } = long
export const { McpSession: UnlimitedSession } = unlimited
export default combine(
  quick,
  slow,
  telling,
  crowded,
  silent,
  short,
  long,
  unlimited,
  () => new Response(null, { status: 404 }),
)
