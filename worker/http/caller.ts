/** The caller of a request before its calls run: for the scopes of entries that are visible to some callers only. */
import type { Caller } from '../declarations/caller.ts'
import type { HttpRequest } from '../declarations/http-request.ts'
import { callerOf } from '../engine/caller.ts'
import { McpError } from '../protocol/errors.ts'
import type { RequestMessage } from '../protocol/jsonrpc.ts'
import { claimedVersion, type Envelope, readEnvelope } from '../protocol/meta.ts'
import type { Principal } from '../protocol/principal.ts'
import { revisionOf } from '../protocol/revisions/index.ts'
import type { IncomingRequest } from '../request-hooks.ts'
import type { Host } from './host.ts'
import { openSessionId } from './session/session-id.ts'

/**
 * Returns the HTTP request as handlers get it. Most handlers read none of its members.
 *
 * @param host of the endpoint. With `auth`, the token that it has verified is left out
 */
export function httpRequestOf(request: Request, { auth }: Pick<Host, 'auth'>): HttpRequest {
  let headers: Headers | undefined
  return {
    get method() {
      return request.method
    },
    get url() {
      return request.url
    },
    get headers() {
      headers ??= auth ? withoutToken(request.headers) : request.headers
      return headers
    },
    get address() {
      return addressOf(request)
    },
  }
}

function withoutToken(headers: Headers): Headers {
  const kept = new Headers(headers)
  kept.delete('Authorization')
  return kept
}

/** Returns the IP address of the client, if the platform provides it. */
export const addressOf = ({ headers }: Request): string | undefined => headers.get('CF-Connecting-IP') ?? undefined

/**
 * Returns the caller of a message that has not been run. Over HTTP+SSE, the client is not known, because the session stores what it
 * declared: the caller supports no feature.
 */
export async function callerOfMessage(
  host: Host,
  principal: Principal | undefined,
  { params }: Pick<RequestMessage, 'params'>,
  incoming: IncomingRequest | undefined,
): Promise<Caller> {
  const id = incoming?.request.headers.get('Mcp-Session-Id') ?? undefined
  const isStateless = claimedVersion(params) !== undefined
  const session = id === undefined || isStateless ? undefined : await openSessionId(id, host, principal)
  const client = session ? session.handshake : envelopeOf(params)
  const revision = client && revisionOf(client.version)
  return callerOf({
    principal,
    client: client?.client,
    capabilities: revision?.client(client?.capabilities ?? {}) ?? {},
    // An error of the option rejects the request, after its scopes are checked.
    requestContext: incoming && (await host.readContext?.(incoming).catch(() => undefined)),
    request: incoming && httpRequestOf(incoming.request, host),
    protocolVersion: revision?.date,
  })
}

function envelopeOf(params: RequestMessage['params']): (Envelope & { readonly version: string }) | undefined {
  try {
    return readEnvelope(params)
  } catch (thrown) {
    if (thrown instanceof McpError) return undefined
    throw thrown
  }
}
