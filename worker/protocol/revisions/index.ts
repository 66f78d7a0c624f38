/** The supported protocol versions, and what the rest of the code asks of them. */
import type { Revision } from '../revision.ts'
import { rev20241105 } from './2024-11-05.ts'
import { rev20251125 } from './2025-11-25.ts'
import { rev20260728 } from './2026-07-28.ts'
import { revisions } from './supported.ts'

export { revisions }

export const statelessRevisions = revisions.filter((revision) => revision.stateless)
export const sessionRevisions = revisions.filter((revision) => !revision.stateless)

/** Dates that a stateless request may name, in discovery and in the error `unsupported_version`. */
export const supportedVersions = statelessRevisions.map((revision) => revision.date)

/** The version that handlers, the engine and stored values are written in. Each response is converted to the version of its client. */
export const [newestRevision] = revisions

/** The first version without sessions: a version with this date or a later one is stateless, whether it is supported or not. */
export const oldestStateless: Revision = rev20260728

export const newestWithSessions: Revision = rev20251125

/** Returns the protocol version with this date; `undefined` for others. */
export const revisionOf = (date: string): Revision | undefined => revisions.find((revision) => revision.date === date)

/** Returns the newest stateless version that is supported here and in a list of a server; `undefined`: none. */
export const newestCommon = (dates: readonly unknown[]): Revision | undefined =>
  statelessRevisions.find(({ date }) => dates.includes(date))

/** The version of a session before its handshake. */
export const oldestRevision = rev20241105
