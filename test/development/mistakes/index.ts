/** A server with one mistake in each tool: `mistakes.ts` says what a client gets, or what is printed. */
import { env as workerEnv } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { combine } from 'edgemcp/compose'
import { sessions } from 'edgemcp/sessions'
import { state } from 'edgemcp/state'
import * as z from 'zod'

const env = workerEnv as unknown as { DB: D1Database; API_KEY: string }
const server = createServer({ name: 'mistakes', version: '1.0.0' })
const worker = serve(server, { plugins: [sessions()] })
const description = 'Makes a mistake'
const Count = z.object({ count: z.number() })
const Sure = z.object({ sure: z.boolean() })

server.resource('note://:id', { description }, () => 'Milk')

// What handlers return

server.tool('returns_a_number', { description }, (() => 42) as never)
server.tool('returns_nothing', { description }, () => {})
server.tool('returns_nothing_for_a_schema', { description, outputSchema: Count }, (() => {}) as never)
server.tool('returns_another_shape', { description, outputSchema: Count }, (() => ({ count: 'three' })) as never)
server.tool('returns_a_response', { description }, (() => Response.json({ a: 1 })) as never)
server.tool('returns_a_map', { description }, (() => ({ counts: new Map([['a', 1]]) })) as never)
server.tool('returns_a_bigint', { description }, (() => ({ rows: [{ id: 1n }] })) as never)
server.tool('returns_a_promise', { description }, (() => ({ user: Promise.resolve('Ada') })) as never)
server.tool('returns_a_sdk_result', { description }, () => ({ content: [{ type: 'text' as const, text: 'Hello' }] }))
server.tool('returns_40_megabytes', { description }, () => 'a'.repeat(40_000_000))

// What handlers throw

server.tool('throws_a_secret', { description }, () => {
  throw new Error(`connect postgres://app:${env.API_KEY}@db.example failed`)
})
server.tool('throws_undefined', { description }, () => {
  throw undefined
})
server.tool('throws_a_string', { description }, () => {
  throw 'The city is unknown'
})
server.tool('reads_a_missing_binding', { description }, async () => {
  const row = await env.DB.prepare('SELECT 1').first()
  return JSON.stringify(row)
})
server.tool('never_resolves', { description }, () => new Promise<string>(() => {}))

// Questions

server.tool('asks_in_a_loop', { description }, async (_, ctx) => {
  for (let turn = 0; turn < 2; turn += 1) await ctx.elicit('sure', 'Sure?', Sure)
  return 'done'
})
server.tool('calls_before_a_question', { description }, async (_, ctx) => {
  await fetch('http://127.0.0.1:1/').catch(() => {})
  await ctx.elicit('sure', 'Sure?', Sure)
  return 'done'
})
let attempts = 0
server.tool('counts_before_a_question', { description }, async (_, ctx) => {
  attempts += 1
  await ctx.elicit('sure', 'Sure?', Sure)
  return `attempt ${attempts}`
})
server.tool('forgets_to_await_a_question', { description }, (_, ctx) => {
  ctx.elicit('sure', 'Sure?', Sure)
  return 'deleted'
})
server.tool('catches_a_question', { description }, async (_, ctx) => {
  try {
    await ctx.elicit('sure', 'Sure?', Sure)
    return 'done'
  } catch {
    return 'caught'
  }
})
server.tool('asks_by_chance', { description }, async (_, ctx) => {
  await ctx.elicit('sure', `Sure about ${Math.random()}?`, Sure)
  return 'done'
})
let keys = 0
server.tool('makes_a_key_by_chance', { description }, async (_, ctx) => {
  keys += 1
  await ctx.elicit(`sure-${keys}`, 'Sure?', Sure)
  return 'done'
})
server.tool('asks_inside_once', { description }, async (_, ctx) => {
  await ctx.once('order', () => ctx.elicit('sure', 'Sure?', Sure))
  return 'done'
})
server.tool('asks_for_an_object', { description }, async (_, ctx) => {
  await ctx.elicit('address', 'Where to?', z.object({ address: z.object({ city: z.string() }) }))
  return 'done'
})
server.tool('asks', { description }, async (_, ctx) => {
  await ctx.elicit('sure', 'Sure?', Sure)
  return 'done'
})
server.tool('uses_a_once_key_twice', { description }, async (_, ctx) => {
  await ctx.once('charge', () => 1)
  await ctx.once('charge', () => 2)
  return 'done'
})
server.tool('keeps_a_date_in_once', { description }, async (_, ctx) => {
  const since = (await ctx.once('since', () => new Date(0))) as unknown as Date
  return `${since.getTime()}`
})

// State, changes, tasks and time

const ofUser = state<{ a: number }>('of-user', { per: 'user', ttl: 60_000 })
const ofSession = state<{ a: number }>('of-session', { per: 'session' })
const waiting = state('waiting', { per: 'handle', ttl: 60_000 }, (store) => ({
  add: async () => store.put('a', 1),
}))
server.tool('uses_the_state_of_a_user', { description }, async (_, ctx) => {
  await ctx.state(ofUser).put('a', 1)
  return 'done'
})
server.tool('uses_the_state_of_a_session', { description }, async (_, ctx) => {
  await ctx.state(ofSession).put('a', 1)
  return 'done'
})
server.tool('waits_in_an_operation', { description }, async (_, ctx) => {
  await ctx.state(waiting, await ctx.createHandle(waiting)).add()
  return 'done'
})
const note = server.resource('note://{id}', { description: 'A note' }, ({ id }) => id)
server.tool('notifies_without_subscriptions', { description }, async () => {
  await note.updated({ id: '1' })
  return 'done'
})
server.tool('forgets_to_await_a_notification', { description }, () => {
  note.updated({ id: '1' })
  return 'done'
})
server.tool('is_a_task', { description, task: true }, () => 'done')
server.tool('sleeps', { description }, async (_, ctx) => {
  await ctx.sleep('wait', '1s')
  return 'done'
})
server.tool('sleeps_for_an_hour', { description }, async (_, ctx) => {
  await ctx.sleep('wait', '1h')
  return 'done'
})
server.tool('logs_too_late', { description }, (_, ctx) => {
  setTimeout(() => ctx.log('info', 'too late'))
  return 'done'
})
server.tool('has_a_limit', { description, rateLimit: { rate: '60/m' } }, () => 'done')
server.tool('takes_a_city', { description, inputSchema: z.object({ city: z.string() }) }, ({ city }) => city)
server.tool('print', { description: 'Prints', inputSchema: z.object({ text: z.string() }) }, ({ text }) => {
  console.log(text)
  return text
})

// Another server, whose tool takes a scope that no caller has.
const guarded = createServer({ name: 'guarded', version: '1.0.0' })
guarded.tool('salaries', { description, scopes: ['hr:read'] }, () => 'done')

export default combine(worker, serve(guarded, { path: '/guarded/mcp' }))
export const { McpSession } = worker
export { McpState } from 'edgemcp/state'
