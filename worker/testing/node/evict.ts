import type { WorkerHandle } from 'wrangler'

/** Evicts an object from memory, if it is there. @throws Error when it cannot be evicted */
export async function evict(
  harness: { getWorker(): Pick<WorkerHandle, 'evictDurableObject'> },
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
