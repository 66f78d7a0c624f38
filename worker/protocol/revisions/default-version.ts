/**
 * The protocol version of a request without a session that states none: 2025-03-26, as the specification says.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#protocol-version-header
 */
import type { Revision } from '../revision.ts'
import { rev20250326 } from './2025-03-26.ts'
import { revisionOf } from './index.ts'

export const defaultRevision: Revision = rev20250326

/** Returns the protocol version of a request without a session. @param header `MCP-Protocol-Version` */
export const revisionOfHeader = (header: string | null): Revision => revisionOf(header ?? '') ?? defaultRevision
