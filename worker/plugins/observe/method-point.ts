/**
 * The columns of a call in Workers Analytics Engine. A column keeps its meaning: a new one is added at the end.
 *
 * | column    | what                                     | column    | what                          |
 * |-----------|------------------------------------------|-----------|-------------------------------|
 * | `blob1`   | method                                   | `blob7`   | issuer                        |
 * | `blob2`   | name of the tool or prompt, or URI       | `blob8`   | subject                       |
 * | `blob3`   | `answered`, `failed`, `asked`, `error` or `received` | `blob9`   | tenant                        |
 * | `blob4`   | the error's kind                         | `blob10`  | the session's mark            |
 * | `blob5`   | revision                                 | `blob11`  | trace                         |
 * | `blob6`   | what the client calls itself             | `double1` | milliseconds                  |
 * | `index1`  | method                                   | `double2` | the error's code; 0 for none  |
 *
 * What is not known is the empty text.
 *
 * @see https://developers.cloudflare.com/analytics/analytics-engine/limits/
 */

import type { Point } from './analytics-engine-sink.ts'
import type { MethodEvent } from './event.ts'

export function methodPoint(event: MethodEvent): Point {
  const { method, name, uri, outcome, revision, client, principal, session, trace, milliseconds } = event
  const error = outcome.type === 'error' ? outcome : undefined
  const blobs = [
    method,
    name ?? uri,
    outcome.type,
    error?.kind,
    revision,
    client?.name,
    principal?.issuer,
    principal?.subject,
    principal?.tenant,
    session,
    trace?.traceId,
  ]
  return { index: method, blobs, doubles: [milliseconds ?? 0, error?.code ?? 0] }
}
