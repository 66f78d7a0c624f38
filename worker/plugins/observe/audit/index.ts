/** edgemcp/audit: Record rejected requests, and calls of entries with scopes. */
export { analyticsEngineSink, type Dataset } from '../analytics-engine-sink.ts'
export { consoleSink } from '../console-sink.ts'
export { type AuditOptions, audit } from './audit.ts'
export type { AuditEvent, AuditTarget, Sink, Who, Why } from './event.ts'
