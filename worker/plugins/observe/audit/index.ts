/** edgemcp/audit: who was refused, and who used what takes scopes. */
export { type AuditOptions, audit } from './audit.ts'
export type { AuditEvent, AuditTarget, Sink, Who, Why } from './event.ts'
export { type Dataset, toAnalytics } from './to-analytics.ts'
export { toLogs } from './to-logs.ts'
