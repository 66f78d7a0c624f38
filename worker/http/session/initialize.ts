import { callerOf } from '../../engine/caller.ts'
import { initialize, notifyOfClient } from '../../engine/methods/initialize.ts'
import { type RequestMessage, resultText } from '../../protocol/jsonrpc.ts'
import type { Revision } from '../../protocol/revision.ts'
import { revisionOf } from '../../protocol/revisions/index.ts'
import { readNonce } from '../../sealing/seal.ts'
import type { Access } from '../access.ts'
import type { Host } from '../host.ts'
import { jsonResponse } from '../json-response.ts'
import { sealSessionId } from './session-id.ts'

/**
 * Answers `initialize`. The session id contains the whole session, so nothing is stored, and no Durable Object is called.
 *
 * @throws McpError `invalid_envelope`
 */
export async function startSession(
  { id, params }: RequestMessage,
  { principal, request, requestContext }: Access,
  host: Host,
): Promise<Response> {
  const negotiated = initialize.negotiate(params)
  // `negotiate` returns only versions that this server speaks.
  const revision = revisionOf(negotiated.version) as Revision
  const features = { updates: host.listen !== undefined, hasSessions: host.hasSessions }
  const { date: protocolVersion } = revision
  const { client } = negotiated
  const capabilities = revision.client(negotiated.capabilities)
  const caller = callerOf({ principal, client, capabilities, requestContext, request, protocolVersion })
  const { declarations } = host.server
  const sessionId = host.hasSessions ? await sealSessionId(negotiated, host, principal) : undefined
  const name = sessionId === undefined ? undefined : String(readNonce(sessionId))
  await notifyOfClient(declarations, revision, caller, name)
  const result = await initialize.answer(declarations, revision, features, caller)
  const answer = { status: 200, text: resultText(id, revision.result('initialize', result)) }
  return jsonResponse(sessionId ? { ...answer, headers: { 'Mcp-Session-Id': sessionId } } : answer)
}
