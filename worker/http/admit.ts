/** Who makes a request, and whether it may: decided before anything is streamed, run or woken. */
import type { IncomingRequest } from '../auth/auth.ts'
import { checked } from '../auth/refusal.ts'
import { insufficientScope } from '../engine/scopes.ts'
import { bounds } from '../protocol/bounds.ts'
import { McpError } from '../protocol/errors.ts'
import type { Message, RequestMessage } from '../protocol/jsonrpc.ts'
import type { Principal } from '../protocol/principal.ts'
import type { Host } from './host.ts'
import { idOf, refusal } from './refusal.ts'

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
  for (const [name, most] of measuredHeaders) {
    const length = request.headers.get(name)?.length ?? 0
    if (length <= most) continue
    throw new McpError(
      'invalid_request',
      `Header ${name} has ${length} characters: this server accepts at most ${most}`,
    )
  }
  incoming.principal = checked(await host.auth?.authenticate(request, host, incoming))
  return incoming.principal
}

/** The refusal of messages that this principal may not send. */
export async function refused(
  messages: readonly Message[],
  host: Host,
  incoming: IncomingRequest,
): Promise<Response | undefined> {
  incoming.messages = messages
  const error = (await host.auth?.authorize?.(incoming, host)) ?? (await host.limit?.check(incoming, host))
  if (!error) return undefined
  incoming.rejection = error
  return refusal(error, idOf(messages))
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
  const site = { ...host, lackedScopes: async () => scopes }
  const error = (await host.auth?.authorize?.({ ...incoming, messages: [call] }, site)) ?? insufficientScope(scopes)
  incoming.rejection = error
  return refusal(error)
}
