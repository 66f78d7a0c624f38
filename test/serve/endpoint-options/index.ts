/** One server at several addresses with options of their own. The classes that keep their sessions are those of other endpoints. */

import { createServer, type ServeOptions, serve } from 'edgemcp'
import { first, own } from 'edgemcp/compose'
import { limits } from 'edgemcp/limits'
import { updates } from 'edgemcp/updates'
import * as z from 'zod'
import type { Post } from '../../../durable-objects/rpc.ts'

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
const note = server.resource('note://1', { description: 'A note' }, () => 'a note')
server.tool('touch', { description: 'Changes the note' }, async () => {
  await note.updated()
  return 'touched'
})
/** Milliseconds until the alarm that was set last by a session. */
let alarmInMs: number | undefined
server.tool('alarm', { description: 'Says when the session is over, unless it is used' }, () => String(alarmInMs))

const minute = 60_000
const patient = { session: 'PatientSession' }
const hasty = { session: 'HastySession' }

/** Those whose classes are exported. */
const [keepsPatient, keepsHasty] = [
  serve(server, { path: '/a', objects: patient, limits: { streamAfterMs: 10 * minute }, limit: limits() }),
  serve(server, { path: '/b', objects: hasty, limits: { streamAfterMs: 1 }, updates: updates() }),
]
export class PatientSession extends keepsPatient.McpSession {
  override async post(post: Post) {
    const posted = await super.post(post)
    const alarm = await this.ctx.storage.getAlarm()
    if (alarm !== null) alarmInMs = alarm - Date.now()
    return posted
  }
}
export const HastySession = keepsHasty.McpSession
export const { McpUpdates } = keepsHasty

const endpoints = (
  [
    [
      'quick',
      { objects: patient, limits: { streamAfterMs: 10 }, sessions: { ttl: 60 * minute, log: { maxEvents: 2 } } },
    ],
    ['slow', { objects: hasty, limits: { streamAfterMs: minute } }],
    ['telling', { objects: patient, updates: updates({ listenersEach: 1, listenersPerAddress: 1 }) }],
    ['crowded', { objects: patient, updates: updates({ listenersPerAddress: 3 }) }],
    ['silent', { objects: hasty }],
    ['short', { objects: patient, limit: limits({ time: 50 }) }],
    ['long', { objects: patient, limit: limits({ time: minute }) }],
    ['unlimited', { objects: patient }],
  ] satisfies [string, ServeOptions][]
).map(([name, options]) => own(serve(server, { path: `/${name}/mcp`, ...options })))

export default first(...endpoints, () => new Response(null, { status: 404 }))
