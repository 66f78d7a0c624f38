/**
 * The columns of an audit event in Workers Analytics Engine. The meaning of a column never changes: new columns are appended.
 *
 * | column    | what                                             | column    | what                                    |
 * |-----------|--------------------------------------------------|-----------|-----------------------------------------|
 * | `blob1`   | `refused` or `allowed`                           | `blob10`  | its name or URI                         |
 * | `blob2`   | the error's kind                                 | `blob11`  | scopes, with spaces between             |
 * | `blob3`   | the error's message                              | `blob12`  | id of the request at Cloudflare         |
 * | `blob4`   | issuer                                           | `blob13`  | the id of the session                   |
 * | `blob5`   | subject                                          | `blob14`  | user agent                              |
 * | `blob6`   | client                                           | `blob15`  | HTTP method                             |
 * | `blob7`   | tenant                                           | `blob16`  | path                                    |
 * | `blob8`   | address                                          | `double1` | HTTP status                             |
 * | `blob9`   | the first method                                 | `double2` | number of targets of the event          |
 * | `index1`  | subject; address of an anonymous caller          | `blob17`  | limit that was exceeded                 |
 *
 * Unknown values are empty texts.
 *
 * @see https://developers.cloudflare.com/analytics/analytics-engine/limits/
 */

import type { Point } from '../analytics-engine-sink.ts'
import type { AuditEvent } from './event.ts'

export function auditPoint(event: AuditEvent): Point {
  const { outcome, reason, principal, address, targets, omitted, scopes, request, session, userAgent, http, status } =
    event
  const [first] = targets
  const blobs = [
    outcome,
    reason?.kind,
    reason?.message,
    principal?.issuer,
    principal?.subject,
    principal?.client,
    principal?.tenant,
    address,
    first?.method,
    first?.name ?? first?.uri,
    scopes.join(' '),
    request,
    session,
    userAgent,
    http.method,
    http.path,
    reason?.reason,
  ]
  return { index: principal?.subject ?? address, blobs, doubles: [status, targets.length + omitted] }
}
