/** edgemcp/observe: Emit an event for each call, with its duration and outcome, and trace calls with OpenTelemetry. */
export { analyticsEngineSink, type Dataset } from './analytics-engine-sink.ts'
export { consoleSink } from './console-sink.ts'
export type { CallOutcome, MethodEvent, Sink, Who } from './event.ts'
export { type ObserveOptions, observe } from './observe.ts'
export { type OpenTelemetry, openTelemetry } from './open-telemetry.ts'
export type { Trace } from './trace.ts'
export { withTraceContext } from './with-trace-context.ts'
