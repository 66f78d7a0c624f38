/** What a Worker exports is known only when a request comes, so what looks at the exports waits for the first one. */
const waiting: (() => void)[] = []

/** Runs `work` before the next request is answered, once. */
export const atFirstRequest = (work: () => void): void => void waiting.push(work)

/** Called at each request. */
export function runWaiting(): void {
  for (const work of waiting.splice(0)) work()
}
