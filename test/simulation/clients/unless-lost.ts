import { ConnectionLost } from '../client-world.ts'

/** Runs what a lost connection may end. Returns `undefined` for one. */
export async function unlessLost<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (problem) {
    if (problem instanceof ConnectionLost) return undefined
    throw problem
  }
}
