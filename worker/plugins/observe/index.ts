/** edgemcp/observe: what is called, how long it takes, and what comes of it. */
export { analyticsEngineSink, type Dataset } from './analytics-engine-sink.ts'
export { consoleSink } from './console-sink.ts'
export type { CallOutcome, MethodEvent, Sink, Who } from './event.ts'
export { type ObserveOptions, observe } from './observe.ts'
export { type OpenTelemetry, openTelemetry } from './open-telemetry.ts'
export type { Trace } from './trace.ts'
export { withTraceContext } from './with-trace-context.ts'
