import { callerOf } from '../engine/caller.ts'
import { initialize, notifyOfClient } from '../engine/methods/initialize.ts'
import { type RequestMessage, resultText } from '../protocol/jsonrpc.ts'
import type { Revision } from '../protocol/revision.ts'
import { revisionOf } from '../protocol/revisions/index.ts'
import type { Access } from './access.ts'
import type { Host } from './host.ts'
import { jsonResponse } from './json-response.ts'
import type { Transport } from './transport.ts'

/**
 * Answers `initialize`. Without a transport, the client has no session: each of its requests is served on its own.
 *
 * @throws McpError `invalid_envelope`
 */
export async function answerInitialize(
  { id, params }: RequestMessage,
  { principal, request, requestContext }: Access,
  host: Host,
  transport: Transport | undefined,
): Promise<Response> {
  const negotiated = initialize.negotiate(params)
  // `negotiate` returns only versions that this server speaks.
  const revision = revisionOf(negotiated.version) as Revision
  const hasSessions = transport !== undefined
  // Without a session, it could not subscribe, and has no stream for changes of lists.
  const features = { updates: host.updates && hasSessions, hasSessions }
  const { date: protocolVersion } = revision
  const { client } = negotiated
  const capabilities = revision.client(negotiated.capabilities)
  const caller = callerOf({ principal, client, capabilities, requestContext, request, protocolVersion })
  const { declarations } = host.server
  const session = await transport?.start(negotiated, host, principal)
  await notifyOfClient(declarations, revision, caller, session?.name)
  const result = await initialize.answer(declarations, revision, features, caller)
  const text = resultText(id, revision.result('initialize', result))
  return jsonResponse({ status: 200, text, ...(session && { headers: session.headers }) })
}
