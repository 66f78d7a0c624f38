/** Work that needs the exports of the Worker, which are known at the first request. */
const waiting: (() => void)[] = []

/** Runs `work` before the next request is answered, once. */
export const atFirstRequest = (work: () => void): void => void waiting.push(work)

/** Called at each request. */
export function runWaiting(): void {
  for (const work of waiting.splice(0)) work()
}
