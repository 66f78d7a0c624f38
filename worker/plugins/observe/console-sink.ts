import { mark } from '../../declarations/option-kinds.ts'
import type { AuditEvent } from './audit/event.ts'
import type { MethodEvent } from './event.ts'

/**
 * Creates a sink of `observe()` and `audit()` that logs each event as one line of JSON, which Workers Logs splits into fields:
 * `{"mcp":{…}}` for a call, `{"audit":{…}}` for an audit event. Failures, errors and refusals are warnings.
 *
 * @see https://developers.cloudflare.com/workers/observability/logs/workers-logs/
 *
 * @example
 * const sink = consoleSink()
 */
export const consoleSink = mark('factory', (): ((event: MethodEvent | AuditEvent) => void) => mark('sink', write))

function write(event: MethodEvent | AuditEvent): void {
  const isAudit = 'targets' in event
  const line = JSON.stringify(isAudit ? { audit: event } : { mcp: event })
  if (isAudit ? event.outcome === 'refused' : hasFailed(event)) console.warn(line)
  else console.log(line)
}

const hasFailed = ({ outcome }: MethodEvent): boolean => outcome.type === 'error' || outcome.type === 'tool_error'
