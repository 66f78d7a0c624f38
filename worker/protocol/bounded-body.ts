/**
 * Bytes of one answer of another server, such as an upstream or an HTTP API, as a whole: an isolate has 128 MB for all of its
 * requests.
 */
export const maxAnswerBytes = 16 * 1024 * 1024

/** Bytes that were read of one answer so far. */
export type ReadBytes = { bytes: number }

/** A body that ends with an error after `maxAnswerBytes`. Then it cancels the body that it reads. */
export class BoundedBody {
  readonly stream: ReadableStream<Uint8Array>
  isTooLarge = false

  /** @param read shared by the bodies of an answer that has several */
  constructor(body: ReadableStream<Uint8Array>, read: ReadBytes = { bytes: 0 }) {
    const reader = body.getReader()
    this.stream = new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        const { done, value } = await reader.read()
        if (done) return controller.close()
        read.bytes += value.byteLength
        if (read.bytes <= maxAnswerBytes) return controller.enqueue(value)
        this.isTooLarge = true
        const problem = new RangeError()
        controller.error(problem)
        await reader.cancel(problem).catch(() => {})
      },
      cancel: (reason) => reader.cancel(reason),
    })
  }
}
