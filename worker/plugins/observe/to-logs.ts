import { mark } from '../../declarations/option-kinds.ts'
import type { Sink } from './event.ts'

/**
 * Writes each event as one line of JSON, `{"mcp":{…}}`, which Workers Logs takes apart into fields. What has failed is a warning, the
 * rest is information.
 *
 * @see https://developers.cloudflare.com/workers/observability/logs/workers-logs/
 */
export const toLogs = mark('factory', (): Sink => mark('sink', write))

const write: Sink = (event) => {
  const line = JSON.stringify({ mcp: event })
  if (event.outcome.type === 'error' || event.outcome.type === 'tool_error') console.warn(line)
  else console.log(line)
}
