/** Detects input requests that a handler forgets to await, so that nothing that comes after one happens before its response. */
import { observe, TrackedPromise, turnsToAwait } from '../declarations/tracked-promise.ts'
import { McpError } from '../protocol/errors.ts'

type GuardOptions = {
  /** Returns the set of the work that the round waits for before it ends. */
  readonly running: () => Set<Promise<unknown>>
  /** Gets the error when the handler goes on without awaiting an input request. */
  readonly onForgotten: (error: McpError) => void
}

/** Runs what a handler does only if the handler awaits its earlier input requests. Once it forgot one, everything after that rejects. */
export class AwaitGuard {
  /** Set once an input request was not awaited. */
  error: McpError | undefined
  readonly #options: GuardOptions
  #unawaited: { readonly name: string; readonly promise: TrackedPromise<unknown> }[] = []

  constructor(options: GuardOptions) {
    this.#options = options
  }

  /** Whether there is an input request that the handler does not await yet. */
  get hasUnawaited(): boolean {
    return this.#pending().length > 0
  }

  /** @param name of the call, such as `ctx.elicit("k", …)`, for the error if the handler does not await it */
  promise<T>(name: string, work: () => Promise<T>): Promise<T> {
    const promise = new TrackedPromise<T>((resolve) => resolve(this.after(work)))
    this.#unawaited.push({ name, promise })
    // A rejection of a promise that the handler does not await is reported as the missing `await`.
    observe(promise, ignore, ignore)
    return promise
  }

  /** Runs work of the handler once it awaits its earlier input requests. */
  after<T>(work: () => Promise<T>): Promise<T> {
    if (this.error) return Promise.reject(this.error)
    if (!this.hasUnawaited) return work()
    const start = this.#allAwaited().then(() => {
      const result = work()
      result.catch(ignore)
      // Not the promise itself, which may stay open.
      return { result }
    })
    const running = this.#options.running()
    running.add(start)
    const onSettled = () => void running.delete(start)
    start.then(onSettled, onSettled)
    return start.then(({ result }) => result)
  }

  /** Like `after`, for what cannot wait: it happens now, and the call fails if an earlier input request is not awaited. */
  check(): void {
    if (this.hasUnawaited) this.after(async () => {}).catch(ignore)
  }

  /** Returns the result of the handler. @throws McpError when it did not await an input request: its result does not count */
  resultIfAwaited<R>(result: R): R | Promise<R> {
    if (this.error) return Promise.reject(this.error)
    return this.hasUnawaited ? this.#allAwaited().then(() => result) : result
  }

  /** @throws McpError when an earlier input request is not awaited */
  async #allAwaited(): Promise<void> {
    const name = await this.#forgotten()
    if (name === undefined) return
    if (!this.error) {
      this.error = notAwaited(name)
      this.#options.onForgotten(this.error)
    }
    throw this.error
  }

  /**
   * Waits until the handler awaits each input request that is there now. `await` and `Promise.all` take a few turns of the microtask queue
   * to call `then`; a request that takes longer is forgotten.
   *
   * @returns the name of a request that was forgotten
   */
  async #forgotten(): Promise<string | undefined> {
    const earlier = this.#pending()
    for (let turn = 0; turn < turnsToAwait; turn++) {
      if (earlier.every(({ promise }) => promise.isAwaited)) return undefined
      await undefined
    }
    return earlier.find(({ promise }) => !promise.isAwaited)?.name
  }

  #pending() {
    if (this.#unawaited.length > 0) this.#unawaited = this.#unawaited.filter(({ promise }) => !promise.isAwaited)
    return this.#unawaited
  }
}

const ignore = () => {}

const notAwaited = (name: string): McpError =>
  new McpError(
    'internal_error',
    `The handler calls ${name} and continues without the answer: write await ${name}, or await Promise.all([…])`,
  )
