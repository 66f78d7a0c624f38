/** One server at several addresses with options of their own. The classes that keep their sessions are those of other endpoints. */

import { createServer, type ServeOptions, serve } from 'edgemcp'
import { combine } from 'edgemcp/compose'
import { rateLimit } from 'edgemcp/rate-limit'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'
import * as z from 'zod'
import type { SessionRpc } from '../../../durable-objects/rpc.ts'

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
const patient = { McpSession: 'PatientSession' }
const hasty = { McpSession: 'HastySession' }

/** Those whose classes are exported. */
const [keepsPatient, keepsHasty] = [
  serve(server, {
    path: '/a',
    limits: { streamAfterMs: 10 * minute },
    plugins: [sessions(), subscriptions(), rateLimit()],
    durableObjects: { names: patient },
  }),
  serve(server, {
    path: '/b',
    limits: { streamAfterMs: 1 },
    plugins: [sessions(), subscriptions()],
    durableObjects: { names: hasty },
  }),
]
export class PatientSession extends keepsPatient.McpSession {
  override async post(...post: Parameters<SessionRpc['post']>) {
    const posted = await super.post(...post)
    const alarm = await this.ctx.storage.getAlarm()
    if (alarm !== null) alarmInMs = alarm - Date.now()
    return posted
  }
}
export const HastySession = keepsHasty.McpSession
export const { McpSubscriptions } = keepsHasty

const endpoints = (
  [
    [
      'quick',
      {
        durableObjects: { names: patient },
        limits: { streamAfterMs: 10 },
        plugins: [sessions({ ttl: 60 * minute, log: { maxEvents: 2 } })],
      },
    ],
    ['slow', { durableObjects: { names: hasty }, limits: { streamAfterMs: minute }, plugins: [sessions()] }],
    [
      'telling',
      {
        durableObjects: { names: patient },
        plugins: [sessions(), subscriptions({ listenersEach: 1, listenersPerAddress: 1 })],
      },
    ],
    [
      'crowded',
      { durableObjects: { names: patient }, plugins: [sessions(), subscriptions({ listenersPerAddress: 3 })] },
    ],
    ['silent', { durableObjects: { names: hasty }, plugins: [sessions()] }],
    ['short', { durableObjects: { names: patient }, plugins: [sessions(), rateLimit({ time: '50ms' })] }],
    ['long', { durableObjects: { names: patient }, plugins: [sessions(), rateLimit({ time: minute })] }],
    ['unlimited', { durableObjects: { names: patient }, plugins: [sessions()] }],
  ] satisfies [string, ServeOptions][]
).map(([name, options]) => serve(server, { path: `/${name}/mcp`, ...options }))

export default combine(...endpoints, () => new Response(null, { status: 404 }))
