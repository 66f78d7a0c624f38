/** Turns of the microtask queue that a call takes that waits for nothing outside, and some. */
const maxTurns = 64

/** Lets go on what needs nothing from outside. Most calls are over then, and need no timer to be watched by. */
export async function drainMicrotasks(isOver: () => boolean): Promise<void> {
  for (let index = 0; index < maxTurns && !isOver(); index++) await undefined
}
