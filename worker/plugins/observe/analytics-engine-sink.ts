import { mark } from '../../declarations/option-kinds.ts'
import { auditPoint } from './audit/audit-point.ts'
import type { AuditEvent } from './audit/event.ts'
import type { MethodEvent } from './event.ts'
import { methodPoint } from './method-point.ts'

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
export type Point = {
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
