/** The options that a session has from its endpoint. One class may keep the sessions of several endpoints, each with its own. */
import type { LogBounds } from './event-log.ts'

export type SessionTerms = {
  /** Milliseconds a silent call may take before its answer becomes a stream. */
  readonly patience: number
  /** Milliseconds after which an idle session is over. */
  readonly ttl: number
  readonly log: LogBounds
  /** The Updates object that it registers with; `undefined`: its client gets no changes. */
  readonly shard: number | undefined
}

/** Numbers with spaces between: they fit into a URL and a row, `Infinity` included. Later releases add some at the end. */
export const termsText = ({ patience, ttl, log, shard }: SessionTerms): string =>
  [
    ...[patience, ttl, log.age, log.count, log.bytes, log.responseCount, log.responseBytes, log.storageBytes],
    shard ?? '-',
  ].join(' ')

export function readTerms(text: string): SessionTerms {
  const [patience, ttl, age, count, bytes, responseCount, responseBytes, storageBytes, shard] = text
    .split(' ')
    .map(Number) as [...[number, number, number, number, number, number, number, number, number]]
  const log = { age, count, bytes, responseCount, responseBytes, storageBytes }
  return { patience, ttl, log, shard: Number.isNaN(shard) ? undefined : shard }
}
