/** The supported protocol versions, newest first. */
import type { Revision } from '../revision.ts'
import { rev20241105 } from './2024-11-05.ts'
import { rev20250326 } from './2025-03-26.ts'
import { rev20250618 } from './2025-06-18.ts'
import { rev20251125 } from './2025-11-25.ts'
import { rev20260728 } from './2026-07-28.ts'

export const revisions: readonly Revision[] = [rev20260728, rev20251125, rev20250618, rev20250326, rev20241105]

export const statelessRevisions = revisions.filter((revision) => revision.stateless)
export const sessionRevisions = revisions.filter((revision) => !revision.stateless)

/** Dates that a stateless request may name, in discovery and in the error `unsupported_version`. */
export const supportedVersions = statelessRevisions.map((revision) => revision.date)

export const newestStateless: Revision = rev20260728

export const newestWithSessions: Revision = rev20251125

/** Returns the protocol version with this date; `undefined` for others. */
export const revisionOf = (date: string): Revision | undefined => revisions.find((revision) => revision.date === date)

/** The version of a session before its handshake. */
export const oldestRevision = rev20241105
