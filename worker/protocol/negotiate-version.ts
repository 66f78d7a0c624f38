import type { Revision } from './revision.ts'
import { newestWithSessions, sessionRevisions } from './revisions/index.ts'

/**
 * The protocol version of a new session: the requested one when it has sessions, the newest that has them otherwise.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#version-negotiation
 */
export const negotiateVersion = (requested: string): Revision =>
  sessionRevisions.find((revision) => revision.date === requested) ?? newestWithSessions
