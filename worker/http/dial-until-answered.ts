/** Calls a Durable Object that may have been lost. */

/** Attempts. The pause before each is twice the one before. */
const defaultAttempts = 6

/**
 * Repeats an idempotent call until it succeeds: an object that was lost is available again soon.
 *
 * @param isInVain whether the first failure is the last, because the client has disconnected or of the error
 * @throws the error of the last attempt
 */
export async function dialUntilAnswered<T>(
  dial: () => Promise<T>,
  isInVain: (problem: unknown) => boolean,
  maxAttempts = defaultAttempts,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await dial()
    } catch (problem) {
      if (isInVain(problem) || attempt === maxAttempts) throw problem
    }
    await new Promise((resolve) => setTimeout(resolve, 50 * 2 ** attempt))
  }
}
