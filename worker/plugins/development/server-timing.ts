/**
 * The header `Server-Timing`.
 *
 * @see https://www.w3.org/TR/server-timing/
 */
import type { Hop } from './hops.ts'

/** Timings in the header. Clients reject responses with 16 KB of headers. */
const maxTimings = 50
const maxNameCharacters = 64

/** Returns the first completed timings. `request` contains the number with which the inspector requests all timings. */
export function serverTiming(request: number, hops: readonly Hop[]): string {
  const finished = hops.filter(({ milliseconds }) => milliseconds !== undefined)
  const metrics = finished.slice(0, maxTimings).map(({ kind, what, milliseconds }) => {
    const name = kind === 'request' ? 'worker' : what.slice(0, maxNameCharacters).replace(/[^\w.]+/g, '-')
    return `${name};dur=${milliseconds}`
  })
  const rest = finished.length > maxTimings ? [`more;desc="${finished.length - maxTimings}"`] : []
  return [`request;desc="${request}"`, ...metrics, ...rest].join(', ')
}
