/**
 * Data points of Workers Analytics Engine.
 *
 * @see https://developers.cloudflare.com/analytics/analytics-engine/limits/
 */

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

/** @throws Error when there is no dataset */
export function writePoint(dataset: Dataset | (() => Dataset | undefined), { index, blobs, doubles }: Point): void {
  const binding = typeof dataset === 'function' ? dataset() : dataset
  if (!binding) {
    throw new Error('toAnalytics() found no dataset: declare it in wrangler.toml, under [[analytics_engine_datasets]]')
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
