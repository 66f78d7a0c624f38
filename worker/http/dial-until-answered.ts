/** Connects to a Durable Object that may have been lost. */

/** Attempts. The pause before each is twice the one before. */
const maxDials = 6

/**
 * Reconnects until it succeeds: an object that was lost is available again soon.
 *
 * @param isInVain whether the client has disconnected, so that the first failure is the last
 * @throws the error of the last attempt
 */
export async function dialUntilAnswered(dial: () => Promise<Response>, isInVain: () => boolean): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await dial()
    } catch (problem) {
      if (isInVain() || attempt === maxDials) throw problem
    }
    await new Promise((resolve) => setTimeout(resolve, 50 * 2 ** attempt))
  }
}
