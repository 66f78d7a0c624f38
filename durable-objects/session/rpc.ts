/** The RPC interface of a session. Types only, so that `worker/` can import them. */

import type { NegotiatedSession } from '../../worker/engine/methods/method.ts'
import type { StoredContext } from '../../worker/engine/request-context.ts'
import type { ServerEvent } from '../../worker/protocol/changes.ts'
import type { ErrorKind } from '../../worker/protocol/errors.ts'
import type { Message } from '../../worker/protocol/jsonrpc.ts'
import type { Principal } from '../../worker/protocol/principal.ts'
import type { Implementation } from '../../worker/protocol/types.ts'

/** One POST, as the Worker forwards it to a session. The session id has been unsealed, and the principal is that of this request. */
export type Post = PostedRequest & PostedSession & { principal: Principal | undefined }

/** The part of a POST that each HTTP request has of its own. */
export type PostedRequest = {
  messages: readonly Message[]
  /** Scopes that a token needs for each message. */
  scopes: readonly (readonly string[])[]
  /** Whether the messages arrived as an array, so that the response is an array. */
  batch: boolean
  /** The caller that limits count the calls for; `undefined`: the server has no limits. */
  caller: string | undefined
  /** IP address of the client. */
  address: string | undefined
  /** The HTTP request of the POST. It is not stored. */
  http: ForwardedHttpRequest
  /** The request context of the POST. Absent without one. */
  requestContext?: StoredContext
  /** Whether the client accepts event streams. */
  streams: boolean
  /** Milliseconds since 1970 until which the stream of the POST may be the body of its response, see `Posted`. */
  bodyUntil: number
}

/** The part that the POSTs of a session to an endpoint have in common. */
export type PostedSession = {
  /** The negotiated session that the session id contains; `undefined` over HTTP+SSE, where the object stores it. */
  handshake?: NegotiatedSession | undefined
  /** The id in `ctx.session`: the name of the object. */
  session: string
  /** The tenant of the endpoint: see `Tenants`. */
  tenant?: string | undefined
  /** Milliseconds since 1970: when the session id expires. */
  expires: number
}

/** The HTTP request of a POST. It contains credentials: it must not be stored. `headers` has a line for each, such as `accept: text/plain`. */
export type ForwardedHttpRequest = {
  readonly url: string
  readonly headers: string
}

export type Posted =
  /** A response. Without `text`, its body is empty. */
  | ({ status: number; text?: string; headers?: Readonly<Record<string, string>> | undefined } & PostedRefusals)
  /**
   * The response is this stream. It has ended and `frames` are all its server-sent events, or it continues in `body`, see
   * `relay-messages.ts`. Without either, a relay has to be opened.
   */
  | ({ stream: number; frames?: string; body?: ReadableStream<Uint8Array> } & PostedRefusals)
  /** The session does not exist. */
  | { gone: true }
  /** The POST answers an input request of a call with these scopes, or cancels the call, and its token lacks one of them. */
  | { lacks: readonly string[] }

/** The requests of the POST that a limit rejected, by their index among its messages. The response contains their errors, too. */
export type PostedRefusals = {
  refusals?: readonly {
    readonly index: number
    readonly kind: ErrorKind
    readonly message: string
    readonly data: unknown
  }[]
}

/** A GET for a stream of a session, with its authenticated caller. */
export type Opening = {
  /** Milliseconds since 1970: when the session id expires. */
  expires: number
  /** Issuer of the tenant. */
  issuer: string | undefined
  tenant: string | undefined
  subject: string | undefined
  client: string | undefined
  scopes: readonly string[]
  /** Id of the event to continue after; `undefined`: the standing stream, from the next event. */
  after: string | undefined
  /** Names the relay that is opened next. */
  relay: string
  /** Absent unless a plugin has `onSessionEnd`. */
  owner?: SessionOwner
}

/** The owner of a session, as it is stored for `onSessionEnd`. */
export type SessionOwner = {
  client: Implementation | undefined
  /** Without claims. */
  principal: Principal | undefined
  /** The tenant of the endpoint: see `Tenants`. */
  tenant?: string | undefined
}

/** The decision on an `Opening`. `lacks`: the scopes of the stream, if the token lacks one of them. */
export type Admission = { gone: true } | { lacks: readonly string[] } | { admitted: true }

/** The RPC interface of a session. */
export interface SessionRpc {
  /**
   * Processes a POST. RPC copies texts faster than objects, and the object parses a `session` that it knows only once.
   *
   * @param request `PostedRequest` as JSON
   * @param session `PostedSession` as JSON
   * @param principal an object, because its claims may be more than JSON
   * @returns a text for a response with status 200 that has nothing else
   */
  post(request: string, session: string, principal: Principal | undefined): Promise<Posted | string>
  /** Ends the session. Returns false if it has already ended. */
  end(expires: number): Promise<boolean>
  /**
   * Delivers an event that this session has subscribed to, or that is for its client. Returns false if the session has ended: it must not
   * be called again.
   *
   * @param taskEnded a task without open input requests, by `taskId` in the params of calls that wait for responses to it, and the error
   * for these calls
   * @param scopes that a token needs to read the event, beyond those of the resource that it names
   * @param delivery identifies one delivery: all calls after the first do nothing
   * @param topics the session receives the event only if it has subscribed to one of them. Default: it has
   */
  changed(
    event: ServerEvent,
    taskEnded?: TaskEnded,
    scopes?: readonly string[],
    delivery?: string,
    topics?: readonly string[],
  ): Promise<boolean>
  /**
   * Notifies this session, which could not be called for long, that every list and each of these resources may have changed. Returns false
   * if the session has ended.
   *
   * @param uris that it has subscribed to
   * @param delivery see `changed`
   */
  missed(uris: readonly string[], delivery: string): Promise<boolean>
  /** Decides on a stream before its relay is opened. Claims must not be in the URL of that request, because platforms log URLs. */
  admit(opening: Opening): Promise<Admission>
  /** Opens a relay. */
  fetch(request: Request): Promise<Response>
}

export type TaskEnded = readonly [taskId: string, problem: string]
