/** Aborts the signal of a call. Most calls end before anything reads the signal, and creating one costs as much as a short call. */
export class Cancellation {
  #isAborted = false
  #reason: unknown
  #controller: AbortController | undefined

  get isAborted(): boolean {
    return this.#isAborted
  }

  get signal(): AbortSignal {
    if (this.#controller) return this.#controller.signal
    this.#controller = new AbortController()
    if (this.#isAborted) this.#controller.abort(this.#reason)
    return this.#controller.signal
  }

  abort(reason: unknown): void {
    if (this.#isAborted) return
    this.#isAborted = true
    this.#reason = reason
    this.#controller?.abort(reason)
  }
}
