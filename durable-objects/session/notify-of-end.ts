import type { SessionEndEvent } from '../../worker/declarations/client-hooks.ts'
import { waitAtMost } from '../../worker/engine/wait.ts'
import type { SessionOwner } from '../rpc.ts'
import type { SessionHost } from './session-host.ts'

/** Milliseconds after which a session ends without its hook. */
const hookTimeoutMs = 10_000

/**
 * Calls `onSessionEnd` of the endpoint that admitted the session. A failure is reported, so that the session ends.
 *
 * @param name of the object
 */
export async function notifyOfEnd(
  { serverFor, report }: Pick<SessionHost, 'serverFor' | 'report'>,
  name: string,
  { client, principal, admitted }: SessionOwner,
  reason: SessionEndEvent['reason'],
): Promise<void> {
  try {
    const { hooks } = serverFor(admitted).declarations
    const called = async () => {
      await hooks?.onSessionEnd?.({ session: { id: name }, client, principal, reason })
      return true
    }
    if (await waitAtMost(hookTimeoutMs, called())) return
    report(
      new Error(
        `onSessionEnd of a plugin has not returned after ${hookTimeoutMs / 1000} seconds: the session ends without it`,
      ),
    )
  } catch (problem) {
    report(problem)
  }
}
