/** Turns of the microtask queue. A call that waits for nothing outside takes fewer. */
const maxTurns = 64

/**
 * Runs microtasks until work has settled, or waits for something outside. Most calls have settled then, and need no timer.
 *
 * @param work left out: all turns
 */
export async function drainMicrotasks(work?: Promise<unknown>): Promise<void> {
  let isSettled = false
  const onSettled = () => {
    isSettled = true
  }
  work?.then(onSettled, onSettled)
  for (let turn = 0; turn < maxTurns && !isSettled; turn++) await undefined
}
