import { ByteBuffer } from './byte-buffer.ts'
import { endBytes } from './jsonrpc.ts'

/** Bytes of a whole response of another server, such as an upstream or an HTTP API: an isolate has 128 MB for all its requests. */
export const maxAnswerBytes = 8 * 1024 * 1024

/** Bytes that were read so far, of one response or of several, and the most that are read. */
export type ReadBytes = { bytes: number; readonly maxBytes: number }

/**
 * A body for a consumer that reads it in pieces, such as a parser of event streams. After `maxBytes`, it ends with an error and
 * cancels the body that it reads.
 */
export class BoundedBody {
  readonly stream: ReadableStream<Uint8Array>

  /** @param read shared by bodies that are bounded together */
  constructor(body: ReadableStream<Uint8Array>, read: ReadBytes) {
    const reader = body.getReader()
    this.stream = new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        const { done, value } = await reader.read()
        if (done) return controller.close()
        // To read a piece of one byte costs as much as to read one of this length.
        read.bytes += Math.max(value.byteLength, 512)
        if (read.bytes <= read.maxBytes) return controller.enqueue(value)
        const problem = new RangeError()
        controller.error(problem)
        await reader.cancel(problem).catch(() => {})
      },
      cancel: (reason) => reader.cancel(reason),
    })
  }
}

/** The bytes of a body. `length`: bytes that were read, or 512 for each piece after the first if these are more. */
export type BodyBytes = { readonly bytes: ByteBuffer; readonly length: number }

/** A body as a whole. `length`: see `BodyBytes`. */
export type BodyText = { readonly text: string; readonly length: number }

/** Reads a body as UTF-8, without a byte order mark: see `readBody`. */
export async function readBodyText(...read: Parameters<typeof readBody>): Promise<BodyText> {
  const { bytes, length } = await readBody(...read)
  return { text: bytes.text(), length }
}

/**
 * Reads a body. Of one with more than `maxBytes`, returns the first and the last bytes: then `length` is greater.
 *
 * @param maxReadBytes after this number of bytes, the rest is cancelled. Default: `maxBytes`
 */
export async function readBody(
  body: AsyncIterable<Uint8Array> | null,
  maxBytes: number,
  maxReadBytes = maxBytes,
): Promise<BodyBytes> {
  const bytes = new ByteBuffer()
  let total = 0
  let pieces = 0
  let length = 0
  for await (const chunk of body ?? []) {
    total += chunk.byteLength
    // A network may divide a body in any way, so short pieces count only if there are many.
    length = Math.max(total, pieces)
    pieces += 512
    bytes.push(chunk)
    if (length > maxBytes) bytes.keepEnds(endBytes)
    if (length > maxReadBytes) break
  }
  return { bytes, length }
}
