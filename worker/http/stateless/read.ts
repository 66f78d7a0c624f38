/** Reads requests without a session: the envelope in the body, and the headers that repeat it. */

import type { Call } from '../../engine/call.ts'
import { guardStep } from '../../engine/failure.ts'
import type { Target } from '../../engine/methods/method.ts'
import { mirroredParameters } from '../../engine/methods/tools.ts'
import type { Classified } from '../../protocol/classify.ts'
import { McpError } from '../../protocol/errors.ts'
import { isRequest, isResponse, type Message, type RequestMessage } from '../../protocol/jsonrpc.ts'
import type { Envelope } from '../../protocol/meta.ts'
import type { Revision } from '../../protocol/revision.ts'
import { revisionOfHeader } from '../../protocol/revisions/default-version.ts'
import { type Access, targetOf } from '../access.ts'
import { errorResponse, noBatches, sessionRequired } from '../error-response.ts'
import type { Host } from '../host.ts'
import { checkMirroredParameters, checkStandardHeaders } from './mcp-headers.ts'

/** A request, in the form of the client and of the engine, and what it names. */
export type StatelessCall = { readonly message: RequestMessage; readonly call: Call; readonly target: Target }

/** The calls of one POST. */
export type StatelessCalls = {
  readonly calls: readonly StatelessCall[]
  /** Whether the messages arrived as an array, so that the response is an array. */
  readonly batch: boolean
  readonly revision: Revision
}

/** Reads a request of a stateless protocol version. @throws McpError `header_mismatch` when its headers do not match its body */
export async function readStateless(
  { headers }: Request,
  { stateless: message, revision, envelope }: Extract<Classified, { stateless: unknown }>,
  access: Access,
  host: Host,
): Promise<StatelessCalls> {
  const request = callOf(message, revision, envelope, access, host)
  const { call, target } = request
  checkStandardHeaders(headers, call.method, call.params, target.callIn(revision)?.named)
  const { tool } = target.found
  // Most tools have no argument that a header repeats.
  if (tool?.inputOf || tool?.mirrored.length) {
    const mirrored = await guardStep(host.server.declarations, call, () => mirroredParameters(tool, call, target))
    checkMirroredParameters(headers, mirrored, call.params.arguments)
  }
  return { calls: [request], batch: false, revision }
}

/**
 * Reads messages of an older protocol version without a session id. Each request is served on its own, with an unknown client.
 *
 * @param version of the header `MCP-Protocol-Version`
 * @returns an error response for messages that need a session
 */
export function readWithoutSession(
  { messages, batch }: { readonly messages: readonly Message[]; readonly batch: boolean },
  version: string | null,
  access: Access,
  host: Host,
): StatelessCalls | Response {
  const revision = revisionOfHeader(version)
  if (batch && !revision.batching) return errorResponse(noBatches(revision.date))
  if (messages.some(isResponse)) {
    if (host.hasSessions)
      return errorResponse(sessionRequired('a response answers a request that the server sent in a session'))
    return errorResponse(new McpError('invalid_request', 'This server has no sessions, so it expects no responses'))
  }
  const requests = messages.filter(isRequest)
  if (requests.length === 0) return new Response(null, { status: 202 })
  // Nothing was negotiated, and a response could not find its way back here. Only a server with sessions declares `logging`.
  const envelope: Envelope = { capabilities: {}, ...(host.hasSessions && { logLevel: 'info' }) }
  const calls = requests.map((message) => callOf(message, revision, envelope, access, host))
  return { calls, batch, revision }
}

function callOf(
  message: RequestMessage,
  revision: Revision,
  { capabilities, client, logLevel }: Envelope,
  access: Access,
  host: Host,
): StatelessCall {
  const { id: requestId, method, params = {} } = message
  const { principal, requestContext, request } = access
  return {
    message,
    target: targetOf(message, host, principal, access),
    call: {
      method,
      params,
      revision,
      capabilities,
      client,
      principal,
      requestContext,
      request,
      session: undefined,
      requestId,
      logLevel,
    },
  }
}
