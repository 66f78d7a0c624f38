import type { CallInfo } from '../../declarations/interceptor.ts'
import type { Outcome } from '../../declarations/outcome.ts'
import type { Plugin } from '../../plugin.ts'
import { asMcpError } from '../../protocol/errors.ts'
import type { CallOutcome } from './event.ts'
import { withOutcome } from './observe.ts'
import { traceOf } from './trace.ts'

/** Describes the part of the module `@opentelemetry/api` that `openTelemetry()` uses. Pass the module itself. */
export type OpenTelemetry = {
  /** The empty context. */
  readonly ROOT_CONTEXT: object
  /** Kinds of spans. */
  readonly SpanKind: { readonly SERVER: number }
  /** Statuses of spans. */
  readonly SpanStatusCode: { readonly ERROR: number }
  /** Reads and sets the active context. */
  readonly context: {
    active(): object
    with<T>(context: object, work: () => T): T
  }
  /** Starts spans, and puts them into contexts. */
  readonly trace: {
    getTracer(name: string): { startSpan(name: string, options?: object, context?: object): Span }
    setSpan(context: object, span: object): object
    setSpanContext(context: object, span: SpanContext): object
  }
}

type SpanContext = { traceId: string; spanId: string; traceFlags: number; isRemote: boolean }

type Span = {
  setAttributes(attributes: Record<string, string | boolean>): unknown
  setStatus(status: { code: number; message?: string }): unknown
  recordException(exception: Error | string): void
  end(): void
}

/**
 * Creates a plugin that starts a span for each call, by the OpenTelemetry conventions for MCP servers. The span has an exception event for
 * what the handler threw, except for an `McpError` that its client caused. Its parent is the trace that the
 * client states in `_meta`, or the active span. A run of a task that ends because its handler sleeps has the attribute
 * `edgemcp.task.asleep`.
 *
 * @param api the module `@opentelemetry/api`. Without a registered provider, no spans are recorded
 * @see https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/
 *
 * @example
 * import * as api from '@opentelemetry/api'
 * serve(server, { plugins: [openTelemetry(api)] })
 */
export function openTelemetry(api: OpenTelemetry): Plugin {
  const tracer = api.trace.getTracer('edgemcp')
  return {
    name: 'openTelemetry',
    interceptor: () => (call, next) => {
      const parent = parentOf(call)
      const span = tracer.startSpan(nameOf(call), { kind: api.SpanKind.SERVER, attributes: attributesOf(call) }, parent)
      const step = api.context.with(api.trace.setSpan(parent, span), () => recorded(span, next()))
      return withOutcome(step, call, (outcome) => {
        if (outcome) setStatus(span, outcome)
        else span.setAttributes({ 'edgemcp.task.asleep': true })
        span.end()
      })
    },
  }

  function parentOf({ params }: CallInfo): object {
    const trace = traceOf(params)
    if (!trace) return api.context.active()
    const { traceId, spanId, sampled } = trace
    return api.trace.setSpanContext(api.ROOT_CONTEXT, { traceId, spanId, traceFlags: Number(sampled), isRemote: true })
  }

  function setStatus(span: Span, outcome: CallOutcome): void {
    if (outcome.type === 'error') {
      span.setAttributes({ 'error.type': String(outcome.code), 'rpc.response.status_code': String(outcome.code) })
      span.setStatus({ code: api.SpanStatusCode.ERROR, message: outcome.message })
    }
    if (outcome.type === 'tool_error') {
      span.setAttributes({ 'error.type': 'tool_error' })
      span.setStatus({ code: api.SpanStatusCode.ERROR, message: outcome.message })
    }
  }
}

/** Records what a step throws as an event of its span. */
async function recorded(span: Span, step: Promise<Outcome>): Promise<Outcome> {
  try {
    const outcome = await step
    if (outcome.type === 'result' && outcome.cause !== undefined) record(span, outcome.cause)
    return outcome
  } catch (thrown) {
    record(span, thrown)
    throw thrown
  }
}

function record(span: Span, thrown: unknown): void {
  if (asMcpError(thrown, () => {}).kind !== 'internal_error') return
  try {
    span.recordException(thrown instanceof Error ? thrown : String(thrown))
  } catch {
    span.recordException('A value that throws when its members are read')
  }
}

/** Returns the name of the span, of low cardinality: without the URI of a resource. */
function nameOf({ method, params }: CallInfo): string {
  return typeof params.name === 'string' ? `${method} ${params.name}` : method
}

function attributesOf({ method, params, protocolVersion }: CallInfo): Record<string, string> {
  const { name, uri } = params
  return {
    'mcp.method.name': method,
    'mcp.protocol.version': protocolVersion,
    'network.transport': 'tcp',
    'network.protocol.name': 'http',
    ...(method === 'tools/call' && { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': String(name) }),
    ...(method === 'prompts/get' && { 'gen_ai.prompt.name': String(name) }),
    ...(typeof uri === 'string' && { 'mcp.resource.uri': uri }),
  }
}
