import type { SessionRpc } from '../rpc.ts'
import { waitAtMost } from '../../worker/engine/wait.ts'
import type { SubscriptionsHost } from './subscriptions-host.ts'

/** Calls to a session whose object is lost, and milliseconds to wait for an answer. */
const [maxAttempts, answerTimeoutMs] = [2, 5_000]

/**
 * Calls a session. A call that fails is repeated once, because an object that was lost is available again at once. One without an answer is
 * not, so that the session delays no other.
 *
 * @returns false if the session has ended
 * @throws the error of the last call
 */
export async function callSession(
  { session }: Pick<SubscriptionsHost, 'session'>,
  address: string,
  call: (session: SessionRpc) => Promise<boolean>,
): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    try {
      const isThere = await waitAtMost(answerTimeoutMs, call(session(address)))
      if (isThere !== undefined) return isThere
    } catch (problem) {
      if (attempt === maxAttempts) throw problem
      await new Promise((resolve) => setTimeout(resolve, 50))
      continue
    }
    throw new Error(`The session ${address} did not answer a change notification`)
  }
}
