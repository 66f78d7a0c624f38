import type { ErrorKind } from '../../../protocol/errors.ts'

/**
 * One refusal, or one call of something that takes scopes. What a client can put into it is at most 200 characters a text, without
 * control characters. It holds no credential, no arguments, no results and no claims.
 */
export type AuditEvent = {
  /** When it was answered, or began to be: ISO 8601, UTC. */
  readonly at: string
  /** `allowed`: it was let in. What came of it is not known here. */
  readonly outcome: 'refused' | 'allowed'
  /** Of the HTTP response. */
  readonly status: number
  /** Of what is refused. */
  readonly reason: Why | undefined
  /** `undefined`: nobody is signed in, or who it is did not get that far. */
  readonly principal: Who | undefined
  /** Where the request came from: `CF-Connecting-IP`. */
  readonly address: string | undefined
  /** What was asked, as far as it was read: of a refusal all messages of the request, of a call what takes scopes. */
  readonly targets: readonly AuditTarget[]
  /** How much of the same there was besides, for which there is no room here. */
  readonly omitted: number
  /** What that takes. */
  readonly scopes: readonly string[]
  readonly http: { readonly method: string; readonly path: string | undefined }
  /** Cloudflare's number of the request: `CF-Ray`. */
  readonly request: string | undefined
  /** The first 16 digits of the session id's SHA-256: the same for all requests of a session, and worth nothing else. */
  readonly session: string | undefined
  readonly userAgent: string | undefined
}

export type Why = {
  /**
   * A row of the table of errors. Of a response that was made further in, as far as its status and its code tell; `not_found`
   * is a URL that is served by nobody.
   */
  readonly kind: ErrorKind | 'not_found' | 'unknown'
  readonly message: string
  /** Which limit refused, with the kind `too_many_requests`: `rate`, `quota`, `concurrent` or `streams` of `edgemcp/rate-limit`, else `listeners` or `subscriptions`. */
  readonly reason?: string | undefined
}

export type Who = {
  readonly issuer: string | undefined
  readonly subject: string | undefined
  readonly client: string | undefined
  readonly tenant: string | undefined
}

/** What a message is about. */
export type AuditTarget = {
  readonly method: string | undefined
  /** Of a tool or prompt. */
  readonly name?: string | undefined
  /** Of a resource or template. */
  readonly uri?: string | undefined
}

/** Takes an event somewhere. What it returns is waited for, after the response; what it throws is reported. */
export type Sink = (event: AuditEvent) => unknown
