/** A server that gives each caller so much, and no more. Whoever says a name is that person. */
import { env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { type AuditEvent, audit } from 'edgemcp/audit'
import { type MethodEvent, observe } from 'edgemcp/observe'
import { rateLimit } from 'edgemcp/rate-limit'
import { sessions } from 'edgemcp/sessions'
import { McpState } from 'edgemcp/state'
import { subscriptions } from 'edgemcp/subscriptions'
import * as z from 'zod'

const { TIME = '60000' } = env as { TIME?: string }

const server = createServer({ name: 'limited', version: '1.0.0' })

server.tool('free', { description: 'No limit of its own' }, () => 'done')
server.tool('bound', { description: 'By a binding', rateLimit: { rate: '3/m' } }, () => 'done')
server.tool('counted', { description: 'Without a binding', rateLimit: { rate: '2/10s' } }, () => 'done')
server.tool('daily', { description: 'By the day', rateLimit: { quota: '2/d' } }, () => 'done')
server.tool('vault', { description: 'Takes a scope', scopes: ['vault'], rateLimit: { quota: '1/d' } }, () => 'done')
server.tool('both', { description: 'By the day and the hour', rateLimit: { rate: '5/m', quota: '2/h' } }, () => 'done')
server.tool('hidden', { description: 'For nobody', visibleTo: () => false, rateLimit: { quota: '1/d' } }, () => 'done')
server.tool('streams', { description: 'One at a time', rateLimit: { concurrent: 1 } }, () => 'done')
const held = new Set<() => void>()
server.tool('hold', { description: 'Until released', rateLimit: { concurrent: 2 } }, async (_, ctx) => {
  await ctx.progress(1)
  await new Promise<void>((resolve) => held.add(resolve))
  return 'released'
})
server.tool('release', { description: 'Releases' }, () => {
  for (const release of held) release()
  held.clear()
})
const Announced = z.object({ isAnnounced: z.boolean().default(false) })
server.tool(
  'silent',
  { description: 'Until released, without a word', inputSchema: Announced, rateLimit: { concurrent: 1 } },
  async ({ isAnnounced }, ctx) => {
    if (isAnnounced) await ctx.progress(1)
    await new Promise<void>((resolve) => held.add(resolve))
    return 'released'
  },
)
server.tool('held', { description: 'How many handlers were held since the last release' }, () => String(held.size))
server.tool(
  'scarce',
  { description: 'One at a time, and three a day', rateLimit: { concurrent: 1, quota: '3/d' } },
  async () => {
    await new Promise<void>((resolve) => held.add(resolve))
    return 'released'
  },
)
server.tool('question', { description: 'Asks', rateLimit: { concurrent: 1, quota: '2/d' } }, async (_, ctx) => {
  const answer = await ctx.elicit('word', 'A word?', z.object({ word: z.string() }))
  return answer.action === 'accept' ? answer.content.word : answer.action
})
server.tool('late', { description: 'Never ends' }, async (_, { signal }) => {
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
  return 'stopped'
})
server.tool('patient', { description: 'Waits for its client' }, async (_, ctx) => {
  const answer = await ctx.elicit('word', 'A word?', z.object({ word: z.string() }))
  return answer.action === 'accept' ? answer.content.word : answer.action
})
server.tool('echo', { description: 'Echoes', inputSchema: z.object({ text: z.string() }) }, ({ text }) => text)
const Text = z.object({ text: z.string() })
server.tool('typed', { description: 'Takes text', inputSchema: Text, rateLimit: { quota: '2/d' } }, ({ text }) => text)
server.prompt('counted', { description: 'Counted', rateLimit: { quota: '1/d' } }, () => 'hello')
server.resource('note://{id}', { description: 'Notes', rateLimit: { quota: '1/d' } }, ({ id }) => `note ${id}`)

const audited: AuditEvent[] = []
const observed: MethodEvent[] = []

const worker = serve(server, {
  limits: { maxJsonDepth: 20, maxBatchSize: 10, keepAliveMs: 100, streamAfterMs: 5_000 },
  auth: {
    allowAnonymous: true,
    async authenticate(request) {
      const subject = /^Bearer (\w+)$/.exec(request.headers.get('Authorization') ?? '')?.[1]
      return subject ? { issuer: 'https://names.example', subject, scopes: ['vault'], claims: {} } : undefined
    },
  },
  plugins: [
    sessions(),
    audit({ sinks: (event) => void audited.push(event) }),
    observe({ sinks: (event) => void (event.milliseconds ?? observed.push(event)), all: true }),
    subscriptions(),
    rateLimit({ quota: '40/h', streams: 2, time: Number(TIME), arguments: 1_000 }),
  ],
})
export default {
  async fetch(request, env, ctx) {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname !== '/events') return worker.fetch(request, env, ctx)
    const subject = searchParams.get('subject')
    const ofSubject = ({ principal }: AuditEvent | MethodEvent) => principal?.subject === subject
    return Response.json({ audited: audited.filter(ofSubject), observed: observed.filter(ofSubject) })
  },
} satisfies ExportedHandler
export { McpState }
export const { McpSession, McpSubscriptions } = worker
