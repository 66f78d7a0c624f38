/** Turns of the microtask queue. A call that waits for nothing outside takes fewer. */
const maxTurns = 64

/** Runs microtasks until work is over, or waits for something outside. Most calls are over then, and need no timer. */
export async function drainMicrotasks(isOver: () => boolean): Promise<void> {
  for (let index = 0; index < maxTurns && !isOver(); index++) await undefined
}
