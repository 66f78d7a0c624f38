/** Counts what waits in the streams of the platform for their readers: objects and Workers keep it in memory. */

/**
 * `written`: what was written to an identity stream, and was not read. `queued`: what a stream with a controller has queued. `copied`: what
 * one branch of a `tee` has read, and the other has not.
 */
export type Buffer = 'written' | 'queued' | 'copied'

export class Buffers {
  /** The most bytes that one stream had at any time, by the kind of the buffer. */
  readonly most: Record<Buffer, number> = { written: 0, queued: 0, copied: 0 }

  /** Records how many bytes wait in a stream. */
  note(buffer: Buffer, bytes: number): void {
    if (bytes > this.most[buffer]) this.most[buffer] = bytes
  }
}

/** Bytes of one read of an identity stream, at most. */
const mostRead = 4096

/** What one write has left. */
type Write = { left: Uint8Array; readonly resolve: () => void; readonly reject: (problem: unknown) => void }

/** Returns the streams of a Worker, which are counted. */
export function countedStreams(buffers: Buffers) {
  /**
   * As in workerd, a write ends when all of it was read, in several reads if it is long, and `abort` discards what was not read. A
   * `TransformStream` of the standard is aborted when its write has ended.
   */
  class IdentityTransformStream {
    readonly readable: ReadableStream<Uint8Array>
    readonly writable: WritableStream<Uint8Array>

    constructor() {
      let waiting = 0
      let write: Write | undefined
      let isClosed = false
      let onWrite = () => {}
      let reader: ReadableStreamDefaultController<Uint8Array>
      let writer: WritableStreamDefaultController
      this.readable = new ReadableStream<Uint8Array>(
        {
          start(controller) {
            reader = controller
          },
          async pull() {
            while (!write && !isClosed) await new Promise<void>((resolve) => (onWrite = resolve))
            if (!write) return reader.close()
            const part = write.left.subarray(0, mostRead)
            write.left = write.left.subarray(part.length)
            waiting -= part.length
            reader.enqueue(part)
            if (write.left.length > 0) return
            write.resolve()
            write = undefined
          },
          cancel(reason) {
            writer.error(reason)
            write?.reject(reason)
          },
        },
        { highWaterMark: 0 },
      )
      const size = ({ byteLength }: Uint8Array) => {
        waiting += byteLength
        buffers.note('written', waiting)
        return 1
      }
      this.writable = new WritableStream<Uint8Array>(
        {
          start(controller) {
            writer = controller
            controller.signal.addEventListener('abort', () => {
              reader.error(controller.signal.reason)
              write?.reject(controller.signal.reason)
            })
          },
          write: (bytes) =>
            new Promise<void>((resolve, reject) => {
              write = { left: bytes, resolve, reject }
              onWrite()
            }),
          close() {
            isClosed = true
            onWrite()
          },
        },
        { highWaterMark: 1, size },
      )
    }
  }

  class CountedStream<T> extends ReadableStream<T> {
    constructor(source: UnderlyingDefaultSource<T>, strategy: QueuingStrategy<T> = {}) {
      const { highWaterMark = 1 } = strategy
      let controller: ReadableStreamDefaultController<T>
      const start = (given: ReadableStreamDefaultController<T>) => {
        controller = given
        return source.start?.(given)
      }
      const size = (chunk: T) => {
        const added = strategy.size?.(chunk) ?? 1
        buffers.note('queued', highWaterMark - Number(controller.desiredSize) + added)
        return added
      }
      super({ ...source, start }, { highWaterMark, size })
    }
  }
  return { IdentityTransformStream, ReadableStream: CountedStream }
}
