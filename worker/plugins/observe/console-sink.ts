import { mark } from '../../declarations/option-kinds.ts'
import type { AuditEvent } from './audit/event.ts'
import type { MethodEvent } from './event.ts'

/**
 * Returns a sink of `observe()` and `audit()` that writes each event as one line of JSON, which Workers Logs takes apart into
 * fields: `{"mcp":{…}}` for a call, `{"audit":{…}}` for an event of the audit. A failure, an error and a refusal are warnings, the rest is
 * information.
 *
 * @see https://developers.cloudflare.com/workers/observability/logs/workers-logs/
 * @example
 * const to = consoleSink()
 */
export const consoleSink = mark('factory', (): ((event: MethodEvent | AuditEvent) => void) => mark('sink', write))

function write(event: MethodEvent | AuditEvent): void {
  const isAudit = 'targets' in event
  const line = JSON.stringify(isAudit ? { audit: event } : { mcp: event })
  if (isAudit ? event.outcome === 'refused' : hasFailed(event)) console.warn(line)
  else console.log(line)
}

const hasFailed = ({ outcome }: MethodEvent): boolean => outcome.type === 'error' || outcome.type === 'tool_error'
