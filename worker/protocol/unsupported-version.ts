/** The error for a protocol version that this server does not support. */
import { McpError } from './errors.ts'
import { revisionOf, revisions, supportedVersions } from './revisions/index.ts'

/** Returns the error for a header `MCP-Protocol-Version` with an unsupported version; `undefined` for others. */
export const unknownVersion = (version: string | null): McpError | undefined =>
  version === null || revisionOf(version) ? undefined : unsupportedVersion(version)

/** @see https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning */
export const unsupportedVersion = (requested: string): McpError =>
  new McpError('unsupported_version', `Unsupported protocol version ${requested}: this server supports ${spoken}`, {
    supported: supportedVersions,
    requested,
  })

const spoken = revisions.map(({ date }) => date).join(', ')
