/** Turns of the microtask queue that a call takes that waits for nothing outside, and some. */
const most = 64

/** Lets go on what needs nothing from outside. Most calls are over then, and need no timer to be watched by. */
export async function atOnce(isOver: () => boolean): Promise<void> {
  for (let turn = 0; turn < most && !isOver(); turn++) await undefined
}
