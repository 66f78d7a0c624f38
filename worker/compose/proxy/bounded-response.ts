/** Bytes of one answer of an upstream, as JSON or as a whole event stream: an isolate has 128 MB for all of its requests. */
export const maxAnswerBytes = 16 * 1024 * 1024

/** A response whose body ends with an error after too many bytes. */
export class BoundedResponse {
  readonly response: Response
  isTooLarge = false

  constructor(response: Response) {
    this.response = response.body ? new Response(this.#bounded(response.body), response) : response
  }

  #bounded(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
    let bytes = 0
    return body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform: (chunk, controller) => {
          bytes += chunk.byteLength
          if (bytes <= maxAnswerBytes) return controller.enqueue(chunk)
          this.isTooLarge = true
          controller.error(new RangeError())
        },
      }),
    )
  }
}
