import { mark } from '../../declarations/option-kinds.ts'
import type { AuditEvent } from './audit/event.ts'
import type { MethodEvent } from './event.ts'

/**
 * Describes a binding of `analytics_engine_datasets`.
 *
 * @see https://developers.cloudflare.com/analytics/analytics-engine/get-started/
 */
export type Dataset = {
  /** Writes one data point. */
  writeDataPoint(point: { indexes: string[]; blobs: string[]; doubles: number[] }): void
}

/** A data point. Unknown values become empty texts. */
type Point = {
  readonly index: string | undefined
  readonly blobs: readonly (string | undefined)[]
  readonly doubles: readonly number[]
}

/** Bytes of one blob: all blobs of a point may have 16 KB together. */
const longestBlob = 800
/** Bytes of an index. Analytics Engine rejects longer ones. */
const longestIndex = 96

/**
 * Creates a sink of `observe()` and `audit()` that writes each event as a data point of Workers Analytics Engine. Calls and audit events
 * have different columns: use a dataset for each.
 *
 * @param dataset the binding, or a function that returns it. An event without a dataset is reported as an error
 * @see https://developers.cloudflare.com/analytics/analytics-engine/limits/
 *
 * @example
 * const sink = analyticsEngineSink(() => env.CALLS)
 */
export const analyticsEngineSink = mark(
  'factory',
  (dataset: Dataset | (() => Dataset | undefined)): ((event: MethodEvent | AuditEvent) => void) =>
    mark('sink', (event) => writePoint(dataset, 'targets' in event ? auditPoint(event) : methodPoint(event))),
)

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
function methodPoint(event: MethodEvent): Point {
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
 * | `blob8`   | address                                          | `double1` | HTTP status; 0 without a response       |
 * | `blob9`   | the first method                                 | `double2` | number of targets of the event          |
 * | `index1`  | subject; address of an anonymous caller          | `blob17`  | limit that was exceeded                 |
 *
 * Unknown values are empty texts.
 *
 * @see https://developers.cloudflare.com/analytics/analytics-engine/limits/
 */
function auditPoint(event: AuditEvent): Point {
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
    http?.method,
    http?.path,
    reason?.reason,
  ]
  return { index: principal?.subject ?? address, blobs, doubles: [status ?? 0, targets.length + omitted] }
}

function writePoint(dataset: Dataset | (() => Dataset | undefined), { index, blobs, doubles }: Point): void {
  const binding = typeof dataset === 'function' ? dataset() : dataset
  if (!binding) {
    throw new Error(
      'analyticsEngineSink() found no dataset: declare it in wrangler.toml, under [[analytics_engine_datasets]]',
    )
  }
  binding.writeDataPoint({
    indexes: [fitting(index, longestIndex)],
    blobs: blobs.map((blob) => fitting(blob, longestBlob)),
    doubles: [...doubles],
  })
}

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** Cuts a text to a number of bytes, after a whole character. */
function fitting(text = '', bytes: number): string {
  const room = new Uint8Array(bytes)
  return decoder.decode(room.subarray(0, encoder.encodeInto(text, room).written))
}
