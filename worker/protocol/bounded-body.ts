/**
 * Bytes of one answer of another server, such as an upstream or an HTTP API, as a whole: an isolate has 128 MB for all of its
 * requests.
 */
export const maxAnswerBytes = 16 * 1024 * 1024

/** A body that ends with an error after `maxAnswerBytes`. Then it cancels the body that it reads. */
export class BoundedBody {
  readonly stream: ReadableStream<Uint8Array>
  isTooLarge = false

  constructor(body: ReadableStream<Uint8Array>) {
    const reader = body.getReader()
    let bytes = 0
    this.stream = new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        const { done, value } = await reader.read()
        if (done) return controller.close()
        bytes += value.byteLength
        if (bytes <= maxAnswerBytes) return controller.enqueue(value)
        this.isTooLarge = true
        const problem = new RangeError()
        controller.error(problem)
        await reader.cancel(problem).catch(() => {})
      },
      cancel: (reason) => reader.cancel(reason),
    })
  }
}
