import type { ErrorKind } from '../../../protocol/errors.ts'
import type { Params } from '../../../protocol/types.ts'

/**
 * Describes one rejected request, one call of an entry with scopes, or one delivery of an event. Texts of the client are cut after 200 characters, without control
 * characters. Contains no credential, no arguments, no results and no claims.
 */
export type AuditEvent = {
  /** Time at which the response or the delivery started, in ISO 8601 and UTC. */
  readonly at: string
  /** `refused`, or `allowed`: the call was authorized. How it ended is not recorded. */
  readonly outcome: 'refused' | 'allowed'
  /** Status of the HTTP response; `undefined` for a delivery. */
  readonly status: number | undefined
  /** Reason of the rejection; `undefined` for an allowed call. */
  readonly reason: Why | undefined
  /** The authenticated caller, or the user who receives an event; `undefined` for an anonymous caller, and for a request that was rejected before authentication. */
  readonly principal: Who | undefined
  /** IP address of the client (`CF-Connecting-IP`); `undefined` with `address: false`. */
  readonly address: string | undefined
  /** Messages and their entries, as far as they could be read: all messages of a rejected request, or the call of an entry with scopes. */
  readonly targets: readonly AuditTarget[]
  /** Further messages of the same kind that the event has no room for. */
  readonly omitted: number
  /** Scopes that the targets require. */
  readonly scopes: readonly string[]
  /** Method of the HTTP request, and its path if it is a path of the endpoint; `undefined` for a delivery. */
  readonly http: { readonly method: string; readonly path: string | undefined } | undefined
  /** Id of the request at Cloudflare: `CF-Ray`. */
  readonly request: string | undefined
  /**
   * `ctx.session.id` of the session that the request names, valid or not: equal for all requests of a session, and no credential.
   * `undefined` without a session, and for a text that cannot be a session id.
   */
  readonly session: string | undefined
  /** The header `User-Agent`. */
  readonly userAgent: string | undefined
  /** What else is known of a delivery: `event`, `subscription` and `attempt`. Default: none. */
  readonly details?: Readonly<Params>
}

/** States why a request was rejected. */
export type Why = {
  /**
   * Kind of the error. If the response was written elsewhere, the kind that matches its status and code; `not_found` for a path without a
   * route.
   */
  readonly kind: ErrorKind | 'not_found' | 'unknown'
  /** Message of the error. */
  readonly message: string
  /**
   * Limit that was exceeded, for the kind `too_many_requests`: `rate`, `quota`, `concurrent` or `streams` of `rateLimit()`; otherwise
   * `listeners` or `subscriptions`.
   */
  readonly reason?: string | undefined
}

/** Identifies a caller, without its claims and credentials. */
export type Who = {
  /** `iss` of the token. */
  readonly issuer: string | undefined
  /** `sub` of the token. */
  readonly subject: string | undefined
  /** `client_id` or `azp` of the token. */
  readonly client: string | undefined
  /** The organization of the subject. */
  readonly tenant: string | undefined
}

/** Identifies the entry that a message names. */
export type AuditTarget = {
  /** The JSON-RPC method; `events/deliver` for a delivery. */
  readonly method: string | undefined
  /** Name of the tool, prompt or event. */
  readonly name?: string | undefined
  /** URI of the resource, or the template. */
  readonly uri?: string | undefined
}

/** Receives audit events. Its promise is awaited after the response; its errors are reported. */
export type Sink = (event: AuditEvent) => unknown
