/** Content of a result that its handler hands over for storage, such as a stream that is too large for memory. */
import { checkOptions, type KindsOf } from '../../declarations/check-options.ts'
import * as kind from '../../declarations/option-kinds.ts'
import { pendingBlock, refusePendingContent } from '../../declarations/pending-content.ts'
import { resultGuards } from '../../declarations/result-guards.ts'
import type { ResourceLink } from '../../protocol/types.ts'

/** Provides the content of a stored result: bytes as a stream, bytes, or a text. */
export type StoredResultSource = ReadableStream<Uint8Array> | Uint8Array | string

/** Describes a stored result. */
export type StoredResultOptions = {
  /** Media type, such as `text/csv`. Default: `text/plain` for a text, `application/octet-stream` for bytes. */
  mimeType?: string
  /** Name of the link. Default: `Result of <tool>`. */
  name?: string
}

const kinds: KindsOf<StoredResultOptions> = {
  // RFC 9110, section 8.3.1
  mimeType: [
    (value) => typeof value === 'string' && /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+[ \t]*(?:;[ -~]*)?$/.test(value),
    "a media type such as 'text/csv'",
  ],
  name: kind.name,
}

export type Pending = {
  readonly source: StoredResultSource
  readonly mimeType: string
  readonly name: string | undefined
}

/** What handlers returned and no interceptor has stored so far, by the block that stands for it. */
const pendingResults = new WeakMap<object, Pending>()

/** Called for each store, so that `storedResult` can tell a Worker without one. */
export const allowStoredResults = (): unknown => resultGuards.add(refusePendingContent)

export const pendingOf = (block: object): Pending | undefined => pendingResults.get(block)

/** Cancels the streams that are not being read. */
export async function cancelStreams(unread: readonly Pending[]): Promise<void> {
  const streams = unread.flatMap(({ source }) => (source instanceof ReadableStream ? source : []))
  await Promise.allSettled(streams.map((stream) => stream.cancel()))
}

/**
 * Creates a content block that `resultStore()` stores, whatever its size, and replaces by a link. A stream is stored as it is read, in parts
 * of 8 MiB, so that the Worker never holds all of it.
 *
 * @throws Error for a source of another type, an invalid option, and when the Worker has no `resultStore()`
 *
 * @example
 * server.tool('export', { description: 'Export all orders' }, async () => {
 *   const { body } = await fetch('https://shop.example/orders.csv')
 *   return body ? storedResult(body, { mimeType: 'text/csv', name: 'orders.csv' }) : 'There are no orders.'
 * })
 */
export function storedResult(source: StoredResultSource, options: StoredResultOptions = {}): ResourceLink {
  checkOptions('storedResult()', options, kinds)
  const { mimeType, name } = options
  const isText = typeof source === 'string'
  if (!isText && !(source instanceof ReadableStream) && !(source instanceof Uint8Array)) {
    throw new Error(`storedResult() needs a ReadableStream, a Uint8Array or a string, not a ${typeof source}`)
  }
  if (!resultGuards.has(refusePendingContent))
    throw new Error('storedResult() needs resultStore() in the plugins of serve()')
  const pending: Pending = { source, mimeType: mimeType ?? (isText ? 'text/plain' : 'application/octet-stream'), name }
  const block = pendingBlock(name ?? 'result', () => cancelStreams([pending]))
  pendingResults.set(block, pending)
  return block
}
