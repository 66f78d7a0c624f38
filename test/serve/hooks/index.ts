/** A server whose plugins count how often they are called. `/counts` has the counts since the last request to it. */
import * as api from '@opentelemetry/api'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { createServer, type Plugin, serve } from 'edgemcp'
import { observe, openTelemetry } from 'edgemcp/observe'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'
import { tasks } from 'edgemcp/tasks'
import * as z from 'zod'

const exporter = new InMemorySpanExporter()
api.trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }))

const none = { interceptor: 0, finally: 0, limiter: 0, observe: 0, onResponse: 0, done: 0, held: 0, hungUp: 0 }
const counts = { ...none }

const counting: Plugin = {
  name: 'counting',
  interceptor: () => async (_, next) => {
    counts.interceptor += 1
    try {
      return await next()
    } finally {
      counts.finally += 1
    }
  },
  provide: () => ({
    limiter: {
      callerOf: () => 'everybody',
      check: async () => undefined,
      async countRound() {
        counts.limiter += 1
        return () => {}
      },
    },
  }),
  onResponse() {
    counts.onResponse += 1
  },
}

const server = createServer({ name: 'hooks', version: '1.0.0' })
server.tool('echo', { description: 'Answers' }, () => 'done')
server.tool('fails', { description: 'Throws' }, () => {
  throw new Error('It does not work')
})
server.tool('asks', { description: 'Asks once' }, async (_, ctx) => {
  const answer = await ctx.elicit('word', 'A word?', z.object({ word: z.string() }))
  return answer.action
})
server.tool('waits', { description: 'Until the call is cancelled' }, async (_, ctx) => {
  await ctx.progress(1)
  await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
  return 'cancelled'
})
server.tool('ignores', { description: 'Never ends, and ignores its signal' }, () => new Promise<string>(() => {}))
let release = () => {}
server.tool('pays', { description: 'Asks, then waits to be released', singleUse: true }, async (_, ctx) => {
  await ctx.elicit('word', 'A word?', z.object({ word: z.string() }))
  ctx.signal.addEventListener('abort', () => {
    counts.hungUp += 1
  })
  await new Promise<void>((resolve) => {
    release = resolve
    counts.held += 1
  })
  counts.held -= 1
  return 'paid'
})
server.tool('release', { description: 'Releases what waits' }, () => release())
server.tool('works', { description: 'A task', task: true }, () => {
  counts.done += 1
  return 'done'
})
server.prompt('greeting', { description: 'Greets' }, () => 'Hello')
server.resource('note://{id}', { description: 'Notes', complete: { id: () => ['one'] } }, ({ id }) => id)

function countEvent(): void {
  counts.observe += 1
}

const worker = serve(server, {
  limits: { keepAliveMs: 100 },
  plugins: [sessions(), counting, observe({ sinks: countEvent }), openTelemetry(api), subscriptions(), tasks()],
})
export default {
  async fetch(request, env, ctx) {
    if (new URL(request.url).pathname !== '/counts') return worker.fetch(request, env, ctx)
    const spans = exporter.getFinishedSpans().length
    const read = { ...counts, spans }
    if (request.method === 'DELETE') {
      exporter.reset()
      Object.assign(counts, none)
    }
    return Response.json(read)
  },
} satisfies ExportedHandler
export const { McpSession, McpSubscriptions, McpTask } = worker
