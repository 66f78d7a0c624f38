/** The options of a session, which its endpoint decides. One class may store the sessions of several endpoints, each with its own options. */
import type { ReplayLimits } from '../shared/event-log.ts'

export type SessionTerms = {
  /** Milliseconds without a message after which the response of a call becomes a stream. */
  readonly streamAfterMs: number
  /** Milliseconds after which an idle session ends. */
  readonly ttl: number
  readonly log: ReplayLimits
  /** The Subscriptions object that it registers with; `undefined`: its client receives no changes. */
  readonly shard: number | undefined
  /** Whether a session that expired while it was idle goes on with its next request, also if its client has lost data. */
  readonly revive: boolean
}

/**
 * Returns a function that formats the options with the shard of a session: as numbers with spaces between, which fit into a URL and a row,
 * including `Infinity`.
 */
export function termsWith({
  streamAfterMs,
  ttl,
  log,
  revive,
}: Omit<SessionTerms, 'shard'>): (shard: number | undefined) => string {
  const shared = [
    streamAfterMs,
    ttl,
    log.maxAgeMs,
    log.maxEvents,
    log.maxCharacters,
    log.maxResponses,
    log.maxResponseCharacters,
    log.maxStorageBytes,
  ].join(' ')
  return (shard) => `${shared} ${shard ?? '-'} ${Number(revive)}`
}

export function readTerms(text: string): SessionTerms {
  const [
    streamAfterMs,
    ttl,
    maxAgeMs,
    maxEvents,
    maxCharacters,
    maxResponses,
    maxResponseCharacters,
    maxStorageBytes,
    shard,
    revive,
    // `termsWith` wrote these numbers.
  ] = text.split(' ').map(Number) as [number, number, number, number, number, number, number, number, number, number]
  const log = { maxAgeMs, maxEvents, maxCharacters, maxResponses, maxResponseCharacters, maxStorageBytes }
  return { streamAfterMs, ttl, log, shard: Number.isNaN(shard) ? undefined : shard, revive: revive === 1 }
}
