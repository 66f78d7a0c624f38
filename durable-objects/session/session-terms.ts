/** The options that a session has from its endpoint. One class may keep the sessions of several endpoints, each with its own. */
import type { ReplayLimits } from '../shared/event-log.ts'

export type SessionTerms = {
  /** Milliseconds a silent call may take before its answer becomes a stream. */
  readonly streamAfterMs: number
  /** Milliseconds after which an idle session is over. */
  readonly ttl: number
  readonly log: ReplayLimits
  /** The Subscriptions object that it registers with; `undefined`: its client gets no changes. */
  readonly shard: number | undefined
}

/** Numbers with spaces between: they fit into a URL and a row, `Infinity` included. Later releases add some at the end. */
export const termsText = ({ streamAfterMs, ttl, log, shard }: SessionTerms): string =>
  [
    ...[
      streamAfterMs,
      ttl,
      log.maxAgeMs,
      log.maxEvents,
      log.maxCharacters,
      log.maxResponses,
      log.maxResponseCharacters,
      log.maxStorageBytes,
    ],
    shard ?? '-',
  ].join(' ')

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
    // `termsText` wrote nine numbers.
  ] = text.split(' ').map(Number) as [number, number, number, number, number, number, number, number, number]
  const log = { maxAgeMs, maxEvents, maxCharacters, maxResponses, maxResponseCharacters, maxStorageBytes }
  return { streamAfterMs, ttl, log, shard: Number.isNaN(shard) ? undefined : shard }
}
