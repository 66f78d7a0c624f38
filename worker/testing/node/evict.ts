import type { TestHarness } from 'wrangler'

/** Puts an object out of memory, if it is there. Fails when something keeps it there. */
export async function evict(
  harness: TestHarness,
  className: string,
  which: { name: string } | { id: string },
  webSockets: 'close' | 'hibernate',
): Promise<void> {
  try {
    await harness.getWorker().evictDurableObject(className, { ...which, webSockets })
  } catch (problem) {
    if (!String(problem).includes('not currently running')) throw problem
  }
}
