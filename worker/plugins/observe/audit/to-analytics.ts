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
 * | `index1`  | subject; address if nobody is signed in          | `blob17`  | which limit refused                     |
 *
 * What is not known is the empty text.
 *
 * @see https://developers.cloudflare.com/analytics/analytics-engine/limits/
 */

import { mark } from '../../../declarations/option-kinds.ts'
import { type Dataset, writePoint } from './data-point.ts'
import type { Sink } from './event.ts'

export type { Dataset }

/**
 * @param dataset the binding, or a function that returns it
 * @example
 * audit({ to: toAnalytics(() => env.AUDIT) })
 */
export const toAnalytics = mark(
  'factory',
  (dataset: Dataset | (() => Dataset | undefined)): Sink =>
    mark(
      'sink',
      ({
        outcome,
        reason,
        principal,
        address,
        targets,
        omitted,
        scopes,
        request,
        session,
        userAgent,
        http,
        status,
      }) => {
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
        writePoint(dataset, {
          index: principal?.subject ?? address,
          blobs,
          doubles: [status, targets.length + omitted],
        })
      },
    ),
)
