import type { Revision } from './revision.ts'
import { newestWithSessions, sessionRevisions } from './revisions/index.ts'

/**
 * Returns the protocol version of a new session: the requested one if it has sessions, else the newest with sessions.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#version-negotiation
 */
export const negotiateVersion = (requested: string): Revision =>
  sessionRevisions.find((revision) => revision.date === requested) ?? newestWithSessions
