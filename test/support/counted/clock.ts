/** A clock that tests advance, so that a week passes at once. */
const realNow = Date.now

/** Milliseconds that this server is ahead of the environment. */
let ahead = 0

Date.now = () => realNow() + ahead

export function putForward(milliseconds: number): void {
  ahead += milliseconds
}

/** Milliseconds that alarms are delayed: they run when a test advances the clock, and not because the machine is slow. */
export const keptBack = 365 * 24 * 60 * 60_000
