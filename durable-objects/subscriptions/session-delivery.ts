import type { ServerEvent } from '../../worker/protocol/changes.ts'
import { waitAtMost } from '../shared/wait-at-most.ts'
import type { SubscriptionsHost } from './subscriptions-host.ts'

/** Calls to a session that does not answer, and milliseconds to wait for each. */
const [attempts, deliveryTimeoutMs] = [4, 5_000]

/**
 * Delivers a change to a session. A call that hangs is repeated, because the object of the session may be lost: a session that is only slow
 * receives the change once.
 *
 * @returns false if the session has ended. A failure of the last attempt is reported, so that it does not delay other changes
 */
export async function deliverToSession(
  { session, report }: Pick<SubscriptionsHost, 'session' | 'report'>,
  address: string,
  change: ServerEvent,
): Promise<boolean> {
  const delivery = crypto.randomUUID()
  for (let attempt = 1; ; attempt++) {
    try {
      const isThere = await waitAtMost(
        deliveryTimeoutMs,
        session(address).changed(change, undefined, undefined, delivery),
      )
      if (isThere === undefined) throw new Error(`The session ${address} did not answer a change notification`)
      return isThere
    } catch (problem) {
      if (attempt === attempts) {
        report(problem)
        return true
      }
    }
    // An object that was lost is available again at once.
    await new Promise((resolve) => setTimeout(resolve, 50 * attempt))
  }
}
