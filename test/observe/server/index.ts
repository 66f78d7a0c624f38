/** A server that keeps everything that is told of its calls: `/told` has it, once. */

import { env } from 'cloudflare:workers'
import * as api from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { createServer, McpError, type Plugin, serve } from 'edgemcp'
import { type AuditEvent, audit } from 'edgemcp/audit'
import {
  analyticsEngineSink,
  consoleSink,
  type MethodEvent,
  observe,
  openTelemetry,
  withTraceContext,
} from 'edgemcp/observe'
import { rateLimit } from 'edgemcp/rate-limit'
import { sessions } from 'edgemcp/sessions'
import { tasks } from 'edgemcp/tasks'
import * as z from 'zod'

const exporter = new InMemorySpanExporter()
api.context.setGlobalContextManager(new AsyncLocalStorageContextManager())
api.trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }))
const tracer = api.trace.getTracer('handlers')

const server = createServer({ name: 'observed', version: '1.0.0' })

const events: MethodEvent[] = []
const others: MethodEvent[] = []
const audited: AuditEvent[] = []
const points: unknown[] = []
const { CALLS } = env as unknown as { CALLS: AnalyticsEngineDataset }
const broken: Plugin = {
  name: 'broken',
  onResponse({ request }) {
    if (request.headers.has('X-Break-Hook')) throw new Error('This hook is broken')
  },
}

const plugins = [
  observe({
    sinks: [
      (event) => void events.push(event),
      consoleSink(),
      analyticsEngineSink(() => ({
        writeDataPoint(point) {
          points.push(point)
          CALLS.writeDataPoint(point)
        },
      })),
      () => {
        throw new Error('This sink is broken')
      },
    ],
    arguments: true,
  }),
  openTelemetry(api),
] as const

const Login = z.object({
  user: z.string(),
  password: z.string().meta({ writeOnly: true }),
  keys: z.array(z.object({ id: z.int(), key: z.string().meta({ format: 'password' }) })).optional(),
})
server.tool('log_in', { description: 'Takes a secret', inputSchema: Login }, ({ user }) => {
  const span = tracer.startSpan('look up')
  span.end()
  return `Hello, ${user}`
})
server.tool('loose', { description: 'Takes anything', inputSchema: z.looseObject({ known: z.string() }) }, () => 'done')
server.tool('fails', { description: 'Fails' }, () => {
  throw new Error('It broke')
})
server.tool('refuses', { description: 'Refuses' }, () => {
  throw new McpError('invalid_params', 'Not so')
})
server.tool('slow', { description: 'Is too slow' }, () => new Promise<string>(() => {}))
server.tool('asks', { description: 'Asks' }, async (_, ctx) => {
  const { content } = await ctx.elicit('name', 'Name?', z.object({ name: z.string() }))
  return `Hello, ${content?.name}`
})
server.tool('works', { description: 'A task that asks', task: true }, async (_, ctx) => {
  const { content } = await ctx.elicit('name', 'Name?', z.object({ name: z.string() }))
  return `Hello, ${content?.name}`
})
server.tool('rests', { description: 'A task that sleeps', task: true }, async (_, ctx) => {
  tracer.startSpan('prepare').end()
  await ctx.sleep('nap', '1h')
  return 'rested'
})
server.resource('note://{id}', { description: 'A note' }, ({ id }) => `note ${id}`)
server.resource('broken://it', { description: 'Fails' }, () => {
  throw new RangeError('Out of range')
})
server.prompt('plan', { description: 'Plans' }, () => 'Plan')

const worker = serve(server, {
  auth: {
    allowAnonymous: true,
    async authenticate(request) {
      const subject = request.headers.get('Authorization')?.replace('Bearer ', '')
      return subject ? { issuer: 'https://names.example', subject, tenant: 'acme', scopes: [], claims: {} } : undefined
    },
  },
  plugins: [
    sessions(),
    ...plugins,
    rateLimit({ time: 500 }),
    broken,
    audit({ sinks: (event) => void audited.push(event) }),
    observe({ sinks: (event) => void (event.milliseconds ?? others.push(event)), all: true }),
    tasks(),
  ],
})
export const { McpSession, McpTask } = worker

const observed = withTraceContext(worker)
export default {
  async fetch(request: Request, env: unknown, ctx: ExecutionContext): Promise<Response> {
    const { pathname } = new URL(request.url)
    if (pathname === '/others') return Response.json(others.splice(0))
    if (pathname === '/audited') return Response.json(audited.splice(0))
    if (pathname !== '/told') return observed.fetch(request, env, ctx)
    const written = exporter.getFinishedSpans().map((span) => ({
      name: span.name,
      kind: span.kind,
      trace: span.spanContext().traceId,
      id: span.spanContext().spanId,
      parent: span.parentSpanContext?.spanId,
      attributes: span.attributes,
      status: span.status,
      exceptions: span.events.filter(({ name }) => name === 'exception').map(({ attributes }) => attributes),
    }))
    exporter.reset()
    return Response.json({ events: events.splice(0), points: points.splice(0), spans: written })
  },
}
