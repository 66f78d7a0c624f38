/** Promises that know whether code awaits them. */

/**
 * A promise that records whether code awaits it. `await`, `return`, `Promise.all` and their like call `then` of a promise of a subclass, so
 * nothing awaits a `TrackedPromise` on which nothing called `then`.
 */
export class TrackedPromise<T> extends Promise<T> {
  /** `then` returns a plain promise. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  isAwaited = false

  // biome-ignore lint/suspicious/noThenProperty: a promise that records whether code awaits it
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.isAwaited = true
    return super.then(onFulfilled, onRejected)
  }
}

/** Whether code awaits a promise. One of another class counts as awaited. */
export const isAwaited = (promise: Promise<unknown>): boolean =>
  !(promise instanceof TrackedPromise) || promise.isAwaited

/** Calls back when a promise settles. A `TrackedPromise` does not count as awaited by it. */
export function observe<T>(
  promise: Promise<T>,
  onFulfilled: (value: T) => void,
  onRejected: (reason: unknown) => void,
): void {
  Promise.prototype.then.call(promise, onFulfilled, onRejected)
}

/** `return ctx.elicit(…)` through several async functions takes a turn or two of the microtask queue each. */
export const turnsToAwait = 12
