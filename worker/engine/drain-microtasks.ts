/** Turns of the microtask queue. A call that waits for nothing external needs fewer. */
const maxTurns = 64

/**
 * Runs microtasks until work has settled or waits for something external. Most calls have settled then, and need no timer.
 *
 * @param work Default: none; all turns run
 */
export async function drainMicrotasks(work?: Promise<unknown>): Promise<void> {
  let isSettled = false
  const onSettled = () => {
    isSettled = true
  }
  work?.then(onSettled, onSettled)
  for (let turn = 0; turn < maxTurns && !isSettled; turn++) await undefined
}
