/**
 * Classifies a POST: its protocol version, from its body and headers alone. A pure function, so that a table of cases can test it.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning
 */
import { McpError } from './errors.ts'
import {
  isNotification,
  isObject,
  isRequest,
  isResponse,
  type Message,
  type Parsed,
  type RequestMessage,
} from './jsonrpc.ts'
import { claimedVersion, clientCapabilitiesKey, type Envelope, metaOf, readEnvelope } from './meta.ts'
import type { Revision } from './revision.ts'
import { oldestStateless, revisionOf } from './revisions/index.ts'
import { unsupportedVersion } from './unsupported-version.ts'

/** The headers that decide the version, as they arrived. */
export type VersionHeaders = { version: string | null; session: string | null }

export type Classified =
  /** A request of a stateless protocol version. */
  | { stateless: RequestMessage; revision: Revision; envelope: Envelope }
  /** A notification of a stateless protocol version, which has no effect. */
  | { ignored: true }
  | { handshake: RequestMessage }
  /** Messages of a session, or of a request without one: see `default-version.ts`. `batch`: they arrived as an array. */
  | { messages: Message[]; batch: boolean }
  | { refused: McpError; id?: string | number }

export function classify(parsed: Parsed, signs: VersionHeaders): Classified {
  if ('malformed' in parsed) return { refused: parsed.malformed, id: parsed.id }
  const { version } = signs
  const isUnknown = version !== null && revisionOf(version) === undefined
  const isStatelessVersion = claimsStateless(version)
  if ('batch' in parsed && isUnknown) return { refused: unsupportedVersion(version) }
  if ('batch' in parsed) return classifyBatch(parsed.batch, isStatelessVersion)
  const { message } = parsed
  if (isUnknown && !isStatelessRequest(message)) {
    return { refused: unsupportedVersion(version), id: isRequest(message) ? message.id : undefined }
  }
  if (isResponse(message)) {
    if (isStatelessVersion) return refuse('invalid_request', 'A stateless client sends no responses')
    return { messages: [message], batch: false }
  }
  const claimed = claimedVersion(message.params)
  if (isNotification(message)) {
    return isStatelessVersion || claimed !== undefined ? { ignored: true } : { messages: [message], batch: false }
  }
  if (message.method === 'initialize' && !isStatelessClaim(message)) {
    if (!isStatelessVersion) return { handshake: message }
    return refuse('header_mismatch', `Protocol version ${version} has no initialize: use server/discover`, message.id)
  }
  if (claimed === undefined && !isStatelessVersion) return { messages: [message], batch: false }
  return classifyStateless(message, version)
}

function classifyBatch(batch: Exclude<Parsed, { batch: unknown }>[], claims: boolean): Classified {
  if (claims) return refuse('invalid_request', 'A stateless request must not be part of a batch')
  const messages: Message[] = []
  for (const entry of batch) {
    if ('malformed' in entry) return { refused: entry.malformed }
    const { message } = entry
    if (isRequest(message) && message.method === 'initialize') {
      return refuse('invalid_request', 'initialize must not be part of a batch')
    }
    if (!isResponse(message) && claimedVersion(message.params) !== undefined) {
      return refuse('invalid_request', 'A stateless request must not be part of a batch')
    }
    messages.push(message)
  }
  return { messages, batch: true }
}

function classifyStateless(message: RequestMessage, header: string | null): Classified {
  try {
    const { version, ...envelope } = readEnvelope(message.params)
    if (header === null) throw new McpError('header_mismatch', 'Missing header MCP-Protocol-Version')
    if (header !== version) {
      throw new McpError('header_mismatch', `MCP-Protocol-Version is ${header}, but the body has ${version}`)
    }
    const revision = revisionOf(version)
    if (!revision?.stateless) throw unsupportedVersion(version)
    return {
      stateless: message,
      revision,
      envelope: { ...envelope, capabilities: revision.client(envelope.capabilities) },
    }
  } catch (thrown) {
    if (thrown instanceof McpError) return { refused: thrown, id: message.id }
    throw thrown
  }
}

const refuse = (kind: 'invalid_request' | 'header_mismatch', message: string, id?: string | number): Classified => ({
  refused: new McpError(kind, message),
  id,
})

/** Whether a version is a stateless one. Dates compare as text, but only dates do: `v999` is not newer than a date. */
const claimsStateless = (version: unknown): boolean =>
  typeof version === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(version) && version >= oldestStateless.date

/** Whether the body of a request names its protocol version. Then errors compare the body and the header. */
const isStatelessRequest = (message: Message): boolean =>
  isRequest(message) &&
  claimedVersion(message.params) !== undefined &&
  (message.method !== 'initialize' || isStatelessClaim(message))

/** Whether an `initialize` has an envelope: then it is a stateless request for an unknown method. */
function isStatelessClaim({ params }: RequestMessage): boolean {
  return claimsStateless(claimedVersion(params)) && isObject(metaOf(params)?.[clientCapabilitiesKey])
}
