/** The caller of a request before its calls run: for the scopes of entries that are visible to some callers only. */
import type { Caller } from '../declarations/caller.ts'
import type { HttpRequest } from '../declarations/http-request.ts'
import { callerOf } from '../engine/caller.ts'
import { McpError } from '../protocol/errors.ts'
import type { RequestMessage } from '../protocol/jsonrpc.ts'
import { claimedVersion, type Envelope, readEnvelope } from '../protocol/meta.ts'
import type { Principal } from '../protocol/principal.ts'
import { revisionOfHeader } from '../protocol/revisions/default-version.ts'
import { revisionOf } from '../protocol/revisions/index.ts'
import type { IncomingRequest, RequestAuth } from '../request-hooks.ts'
import type { Host } from './host.ts'

/**
 * Returns the HTTP request as handlers get it. Most handlers read none of its members.
 *
 * @param host of the endpoint. With `auth`, the headers that carry the credential are left out
 */
export const httpRequestOf = (request: Request, { auth }: Pick<Host, 'auth'>): HttpRequest =>
  new HttpRequestFromFetch(request, auth)

class HttpRequestFromFetch implements HttpRequest {
  readonly #request: Request
  readonly #auth: Host['auth']
  #headers: Headers | undefined

  constructor(request: Request, auth: Host['auth']) {
    this.#request = request
    this.#auth = auth
  }

  get method(): string {
    return this.#request.method
  }

  get url(): string {
    return this.#request.url
  }

  get headers(): Headers {
    const { headers } = this.#request
    this.#headers ??= this.#auth ? withoutCredential(headers, this.#auth) : headers
    return this.#headers
  }

  get address(): string | undefined {
    return addressOf(this.#request)
  }
}

function withoutCredential(headers: Headers, { credentialHeaders = [] }: RequestAuth): Headers {
  const kept = new Headers(headers)
  for (const name of ['Authorization', 'DPoP', ...credentialHeaders]) kept.delete(name)
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
  const request = incoming?.request
  const id = request?.headers.get('Mcp-Session-Id') ?? undefined
  const isStateless = claimedVersion(params) !== undefined
  const handshake = id === undefined || isStateless ? undefined : await host.handshakeOf?.(id, principal)
  const client = handshake ?? envelopeOf(params)
  // A request without a session states its version in the header only. Over HTTP+SSE, the session has it.
  const isAtEndpoint = request && new URL(request.url).pathname === host.paths.mcp
  const revision = client
    ? revisionOf(client.version)
    : isAtEndpoint
      ? revisionOfHeader(request.headers.get('MCP-Protocol-Version'))
      : undefined
  return callerOf({
    principal,
    client: client?.client,
    capabilities: revision?.client(client?.capabilities ?? {}) ?? {},
    // An error of the option rejects the request, after its scopes are checked.
    requestContext: incoming && (await host.readContext?.(incoming).catch(() => undefined)),
    request: request && httpRequestOf(request, host),
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
