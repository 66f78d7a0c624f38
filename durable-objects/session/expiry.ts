/** The end of a session that was idle. */
import type { SessionParts } from './session-parts.ts'

/** Ends a session that expired while it was idle. Its client may use it again, unless `sessions.revive` is false and it has lost data. */
export function expireSession({ lifetime, values, ledger }: SessionParts): Promise<void> {
  if (lifetime.terms.revive) return lifetime.finish('expired')
  const isMissed = values.get('logLevel') !== undefined || values.get('missedTimeout') || ledger.isOpen
  return lifetime.finish('expired', lifetime.id?.expires, isMissed)
}
