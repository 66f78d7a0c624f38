/**
 * The columns of a call in Workers Analytics Engine. The meaning of a column never changes: new columns are appended.
 *
 * | column    | what                                     | column    | what                          |
 * |-----------|------------------------------------------|-----------|-------------------------------|
 * | `blob1`   | method                                   | `blob7`   | issuer                        |
 * | `blob2`   | name of the tool or prompt, or URI       | `blob8`   | subject                       |
 * | `blob3`   | `answered`, `tool_error`, `input_required`, `error` or `received` | `blob9`   | tenant                        |
 * | `blob4`   | the error's kind                         | `blob10`  | the id of the session         |
 * | `blob5`   | revision                                 | `blob11`  | trace                         |
 * | `blob6`   | name of the client                       | `double1` | milliseconds                  |
 * | `index1`  | method                                   | `double2` | the error's code; 0 for none  |
 *
 * Unknown values are empty texts.
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
