import { mark } from '../../../declarations/option-kinds.ts'
import type { Sink } from './event.ts'

/**
 * Writes each event as one line of JSON, `{"audit":{…}}`, which Workers Logs takes apart into fields. Refusals are warnings, the
 * rest is information.
 *
 * @see https://developers.cloudflare.com/workers/observability/logs/workers-logs/
 */
export const toLogs = mark('factory', (): Sink => mark('sink', write))

const write: Sink = (event) => {
  const line = JSON.stringify({ audit: event })
  if (event.outcome === 'refused') console.warn(line)
  else console.log(line)
}
