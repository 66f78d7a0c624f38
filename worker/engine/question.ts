/**
 * The promise of an answer, which knows whether anything waits for it. `await`, `Promise.all` and their like call `then` of a
 * promise that is no plain one, so a question on which nobody called `then` is one whose `await` was forgotten.
 */
export class Question<T> extends Promise<T> {
  /** What `then` returns is a plain promise. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  isAwaited = false

  // biome-ignore lint/suspicious/noThenProperty: a promise that counts who waits for it
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.isAwaited = true
    return super.then(onFulfilled, onRejected)
  }
}

/** Does anything wait for this answer? */
export const isAwaited = (answer: Promise<unknown>): boolean => !(answer instanceof Question) || answer.isAwaited

/** Looks at what becomes of a promise without counting as somebody who waits for it. */
export function observe<T>(
  promise: Promise<T>,
  onFulfilled: (value: T) => void,
  onRejected: (reason: unknown) => void,
): void {
  Promise.prototype.then.call(promise, onFulfilled, onRejected)
}

/** The questions of one round that nothing waits for yet. */
export class Unawaited {
  #questions: { readonly name: string; readonly promise: Question<unknown> }[] = []

  add(name: string, promise: Question<unknown>): void {
    this.#questions.push({ name, promise })
  }

  /** What to call each of them; most rounds have none. */
  names(): readonly string[] {
    return this.#now().map(({ name }) => name)
  }

  /**
   * Waits until something waits for each question that is there now. `await` and `Promise.all` take a few turns of the
   * microtask queue to do so; what takes longer has been forgotten.
   *
   * @returns the name of a question that was forgotten
   */
  async forgotten(): Promise<string | undefined> {
    const earlier = this.#now()
    for (let index = 0; index < turnsToAwait; index++) {
      if (earlier.every(({ promise }) => promise.isAwaited)) return undefined
      await undefined
    }
    return earlier.find(({ promise }) => !promise.isAwaited)?.name
  }

  #now() {
    if (this.#questions.length > 0) this.#questions = this.#questions.filter(({ promise }) => !promise.isAwaited)
    return this.#questions
  }
}

/** `return ctx.elicit(…)` through several async functions takes a turn or two each. */
const turnsToAwait = 12
