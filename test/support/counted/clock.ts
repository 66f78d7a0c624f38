/** A clock that can be put forward, so that a week passes at once. */
const realNow = Date.now

/** Milliseconds that this server is ahead of the environment. */
let ahead = 0

Date.now = () => realNow() + ahead

export function putForward(milliseconds: number): void {
  ahead += milliseconds
}

/** Milliseconds that alarms are kept back: they run when the clock is put forward, and not because a machine is slow. */
export const keptBack = 365 * 24 * 60 * 60_000
