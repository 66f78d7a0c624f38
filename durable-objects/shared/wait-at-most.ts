/** Waits until a promise settles, but no longer than a number of milliseconds. @throws what the promise rejects with */
export async function waitAtMost(ms: number, work: Promise<unknown>): Promise<void> {
  const { promise: isDue, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  await Promise.race([work, isDue])
  clearTimeout(timer)
}
