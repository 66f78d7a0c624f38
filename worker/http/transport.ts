/** What serves the requests that the endpoint does not serve itself: plugins such as `sessions()` and `subscriptions()` provide it. */
import type { NegotiatedSession } from '../engine/methods/method.ts'
import type { Message } from '../protocol/jsonrpc.ts'
import type { Principal } from '../protocol/principal.ts'
import type { IncomingRequest } from '../request-hooks.ts'
import type { AcceptedTypes } from './accept.ts'
import type { Access } from './access.ts'
import type { Host } from './host.ts'
import type { StatelessCall } from './stateless/read.ts'

/** Messages of a POST with the header `Mcp-Session-Id`. */
export type TransportPost = {
  /** The header `Mcp-Session-Id`. */
  readonly id: string
  /** The JSON-RPC messages of the body. */
  readonly messages: Message[]
  /** Whether the messages arrived as an array. */
  readonly batch: boolean
}

/** Answers requests to a path of the transport. It authenticates the caller itself. */
export type TransportRoute = {
  /** The path, such as `/sse`. */
  readonly path: string
  /** The only HTTP method that it answers, besides OPTIONS. */
  readonly method: 'GET' | 'POST'
  /** Returns the response. */
  handle(request: Request, host: Host, incoming: IncomingRequest): Promise<Response>
}

/**
 * Serves the requests that belong to sessions. The endpoint authenticates the caller and decides access first, and passes on what may be
 * served.
 */
export interface Transport {
  /** Starts a session for `initialize`. Returns its name, for hooks, and headers of the response. */
  start(
    handshake: NegotiatedSession,
    host: Host,
    principal: Principal | undefined,
  ): Promise<{ readonly name: string; readonly headers: Readonly<Record<string, string>> }>
  /** Returns what the client declared when the session started; `undefined` for an id that is forged, expired or of another principal. */
  handshakeOf(id: string, host: Host, principal: Principal | undefined): Promise<NegotiatedSession | undefined>
  /** Serves a POST to a session. */
  post(post: TransportPost, accept: AcceptedTypes, access: Access, host: Host): Promise<Response>
  /** Passes on errors in the place of responses of the client that the endpoint refused, so that calls that wait for them end. */
  refuseResponses(post: TransportPost, access: Access, host: Host): Promise<void>
  /** Serves a GET: a stream of a session. */
  get(request: Request, access: Access, host: Host): Promise<Response>
  /** Serves a DELETE: ends a session. */
  remove(request: Request, host: Host, principal: Principal | undefined): Promise<Response>
  /** Returns the paths that it serves besides the endpoint. */
  routes(paths: Host['paths']): readonly TransportRoute[]
}

/**
 * Opens the stream that answers a request of a stateless protocol version, such as `subscriptions/listen`. The request has been admitted.
 *
 * @throws McpError to reject the request
 */
export type OpenStream = (
  call: StatelessCall,
  request: Request,
  accept: AcceptedTypes,
  access: Access,
  host: Host,
) => Promise<Response>

/** What serves the sessions of an endpoint, if anything does, and what opens its streams, by method. */
export type Transports = {
  readonly transport: Transport | undefined
  readonly streams: ReadonlyMap<string, OpenStream>
}
