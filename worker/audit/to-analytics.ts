/**
 * Events as data points of Workers Analytics Engine, one each. Where what is never changes; what is added is added at the end.
 *
 * | column    | what                                             | column    | what                                    |
 * |-----------|--------------------------------------------------|-----------|-----------------------------------------|
 * | `blob1`   | `refused` or `allowed`                           | `blob10`  | its name or URI                         |
 * | `blob2`   | the error's kind                                 | `blob11`  | scopes, with spaces between             |
 * | `blob3`   | the error's message                              | `blob12`  | Cloudflare's number of the request      |
 * | `blob4`   | issuer                                           | `blob13`  | the session's mark                      |
 * | `blob5`   | subject                                          | `blob14`  | user agent                              |
 * | `blob6`   | client                                           | `blob15`  | HTTP method                             |
 * | `blob7`   | tenant                                           | `blob16`  | path                                    |
 * | `blob8`   | address                                          | `double1` | HTTP status                             |
 * | `blob9`   | the first method                                 | `double2` | how many things the event is about      |
 * | `index1`  | subject; address if nobody is signed in          |           |                                         |
 *
 * What is not known is the empty text.
 *
 * @see https://developers.cloudflare.com/analytics/analytics-engine/limits/
 */
import type { Sink } from './event.ts'

/** A binding of `analytics_engine_datasets`. */
export type Dataset = {
  writeDataPoint(point: { indexes: string[]; blobs: string[]; doubles: number[] }): void
}

/** Bytes: all blobs of a point may have 16 KB together. */
const longestBlob = 800
/** Bytes. Longer ones are not taken. */
const longestIndex = 96

/**
 * @param dataset the binding, or a function that returns it
 * @example
 * audit({ to: toAnalytics(() => env.AUDIT) })
 */
export const toAnalytics =
  (dataset: Dataset | (() => Dataset | undefined)): Sink =>
  ({ outcome, why, who, address, what, more, scopes, request, session, userAgent, http, status }) => {
    const found = typeof dataset === 'function' ? dataset() : dataset
    if (!found) {
      throw new Error(
        'toAnalytics() found no dataset: declare it in wrangler.toml, under [[analytics_engine_datasets]]',
      )
    }
    const [first] = what
    const blobs = [
      outcome,
      why?.kind,
      why?.message,
      who?.issuer,
      who?.subject,
      who?.client,
      who?.tenant,
      address,
      first?.method,
      first?.name ?? first?.uri,
      scopes.join(' '),
      request,
      session,
      userAgent,
      http.method,
      http.path,
    ]
    found.writeDataPoint({
      indexes: [fitting(who?.subject ?? address, longestIndex)],
      blobs: blobs.map((blob) => fitting(blob, longestBlob)),
      doubles: [status, what.length + more],
    })
  }

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** As many whole characters as fit into so many bytes. */
export function fitting(text = '', bytes: number): string {
  const room = new Uint8Array(bytes)
  return decoder.decode(room.subarray(0, encoder.encodeInto(text, room).written))
}
