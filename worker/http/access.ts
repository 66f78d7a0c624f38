/** Who makes a request, and whether it may: decided before anything is streamed, run or woken. */

import { insufficientScope } from '../engine/scopes.ts'
import { bounds } from '../protocol/bounds.ts'
import { checkPrincipal } from '../protocol/check-principal.ts'
import { McpError } from '../protocol/errors.ts'
import type { Message, RequestMessage } from '../protocol/jsonrpc.ts'
import type { Principal } from '../protocol/principal.ts'
import type { IncomingRequest } from '../request-hooks.ts'
import { errorResponse, idOf } from './error-response.ts'
import type { Host } from './host.ts'

/** Headers that this server reads on every request. `Mcp-Session-Id` and the token have bounds where they are opened. */
const measuredHeaders = [
  ['Accept', bounds.headerCharacters],
  ['Content-Type', bounds.headerCharacters],
  ['Last-Event-ID', bounds.eventIdCharacters],
  ['MCP-Protocol-Version', bounds.versionCharacters],
] as const

/** @throws McpError `invalid_request` for a header beyond its bound, `unauthorized` */
export async function authenticate(
  request: Request,
  host: Host,
  incoming: IncomingRequest,
): Promise<Principal | undefined> {
  for (const [name, limit] of measuredHeaders) {
    const length = request.headers.get(name)?.length ?? 0
    if (length <= limit) continue
    throw new McpError(
      'invalid_request',
      `Header ${name} has ${length} characters: this server accepts at most ${limit}`,
    )
  }
  incoming.principal = checkPrincipal(await host.auth?.authenticate(request, host, incoming))
  return incoming.principal
}

/** The refusal of messages that this principal may not send. */
export async function rejectIfForbidden(
  messages: readonly Message[],
  host: Host,
  incoming: IncomingRequest,
): Promise<Response | undefined> {
  incoming.messages = messages
  const error = (await host.auth?.authorize?.(incoming, host)) ?? (await host.limit?.check(incoming, host))
  if (!error) return undefined
  incoming.rejection = error
  return errorResponse(error, idOf(messages))
}

/**
 * The refusal of a request that resumes a stream, answers an input request or cancels a call: it needs the scopes of the call that it
 * belongs to, which only the session knows.
 */
export async function refusedScopes(
  scopes: readonly string[],
  host: Host,
  incoming: IncomingRequest,
): Promise<Response> {
  const call: RequestMessage = { jsonrpc: '2.0', id: 0, method: 'tools/call' }
  const serverInfo = { ...host, lackedScopes: async () => scopes }
  const error =
    (await host.auth?.authorize?.({ ...incoming, messages: [call] }, serverInfo)) ?? insufficientScope(scopes)
  incoming.rejection = error
  return errorResponse(error)
}
