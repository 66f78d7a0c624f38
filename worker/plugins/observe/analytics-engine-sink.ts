import { mark } from '../../declarations/option-kinds.ts'
import { auditPoint } from './audit/audit-point.ts'
import type { AuditEvent } from './audit/event.ts'
import type { MethodEvent } from './event.ts'
import { methodPoint } from './method-point.ts'

/** A binding of `analytics_engine_datasets`. */
export type Dataset = {
  writeDataPoint(point: { indexes: string[]; blobs: string[]; doubles: number[] }): void
}

/** What is not known is the empty text. */
export type Point = {
  readonly index: string | undefined
  readonly blobs: readonly (string | undefined)[]
  readonly doubles: readonly number[]
}

/** Bytes: all blobs of a point may have 16 KB together. */
const longestBlob = 800
/** Bytes. Longer ones are not taken. */
const longestIndex = 96

/**
 * Returns a sink of `observe()` and `audit()` that writes each event as one data point of Workers Analytics Engine. The columns of
 * a call are those of `method-point.ts`, the columns of an event of the audit those of `audit/audit-point.ts`: use a dataset for each.
 *
 * @param dataset the binding, or a function that returns it. An event without a dataset is reported as an error
 * @see https://developers.cloudflare.com/analytics/analytics-engine/limits/
 * @example
 * const to = analyticsEngineSink(() => env.CALLS)
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

/** As many whole characters as fit into so many bytes. */
function fitting(text = '', bytes: number): string {
  const room = new Uint8Array(bytes)
  return decoder.decode(room.subarray(0, encoder.encodeInto(text, room).written))
}
