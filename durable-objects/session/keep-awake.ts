/** Keeps the object in memory while calls run, by alarms, and meets the deadlines of the session meanwhile. */
import { drainMicrotasks } from '../../worker/engine/drain-microtasks.ts'
import { endOverdue } from './input-requests.ts'
import type { SessionParts } from './session-parts.ts'

/** Milliseconds until the alarm that keeps the object in memory for a call whose POST has been answered with a stream. */
export const keepAwakeAfterMs = 20_000
/** An alarm may run for 15 minutes. The next alarm continues a longer call. */
const maxAlarmMs = 14 * 60_000

/** Milliseconds since 1970: when the first input request times out, or the next request about a client's task is due. */
export const answersDue = ({ ledger, clientTasks }: Pick<SessionParts, 'ledger' | 'clientTasks'>): number =>
  Math.min(ledger.due, clientTasks?.due ?? Number.POSITIVE_INFINITY)

/** Keeps the object in memory, by an alarm, for calls whose POST has been answered. */
export async function holdAwake(session: SessionParts): Promise<void> {
  if (session.running.size > 0) await drainMicrotasks()
  if (session.running.size === 0) return
  void session.alarms.set({ hold: Date.now() + keepAwakeAfterMs, answers: answersDue(session) })
}

/**
 * Keeps the object in memory while calls run, for as long as an alarm may take. No other alarm runs meanwhile, so this function meets every
 * deadline of the session: the earliest one first, including those that are set meanwhile.
 */
export async function holdRunning(session: SessionParts): Promise<void> {
  const end = Date.now() + maxAlarmMs
  const { epoch } = session.lifetime
  for (;;) {
    endOverdue(session)
    // The client of a call without a stream waits for its response.
    const isAwaited = [...session.running.values()].some(({ post }) => post.stream === undefined)
    if (isAwaited) session.lifetime.expiry.markSeen()
    const last = Math.min(end, session.lifetime.expiry.due())
    const works = [...session.running.values()].map((running) => running.work)
    if (works.length === 0 || last <= Date.now()) return
    await session.alarms.wait(Promise.allSettled(works), Math.min(last, answersDue(session)))
    if (epoch !== session.lifetime.epoch) return
    session.clientTasks?.poll()
  }
}
