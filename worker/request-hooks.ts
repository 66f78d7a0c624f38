/**
 * Hooks of an endpoint around each HTTP request: authentication and authorization (`Auth`), rate limits (`Limiter`) and audit
 * (`AuditHook`).
 */
import type { CountRound } from './declarations/call-attempt.ts'
import type { Awaitable } from './declarations/context.ts'
import type { Declarations } from './declarations/declarations.ts'
import type { RequestContext } from './declarations/request-context.ts'
import type { Server } from './declarations/server.ts'
import type { StateRpc } from './declarations/state.ts'
import type { StoredByIssuer } from './declarations/stored-principal.ts'
import type { Seals } from './engine/call.ts'
import type { McpError } from './protocol/errors.ts'
import type { Message, RequestMessage } from './protocol/jsonrpc.ts'
import type { Principal } from './protocol/principal.ts'
import type { Params } from './protocol/types.ts'
import type { Sealer } from './sealing/seal.ts'

/** Seals values for the identity of a server, with keys that other Workers do not have. */
export type DocumentSeals = { readonly sealer: Sealer; readonly identity: string }

/** Describes the endpoint that a request is for to hooks, plugins and routes. */
export interface ServerInfo {
  /** The server. */
  readonly server: Server
  /** Identifies the endpoint: see `identity` of `serve()`. */
  readonly identity: string
  /** The `auth` of the endpoint. */
  readonly auth: RequestAuth | undefined
  /** Whether clients can have sessions and streams. */
  readonly hasSessions: boolean
  /** Paths of the endpoint: `mcp` for all protocol versions, `sse` and `messages` for HTTP+SSE of 2024-11-05. */
  readonly paths: { readonly mcp: string; readonly sse: string; readonly messages: string }
  /**
   * Returns all scopes of a request if the principal lacks one of them, and an empty list otherwise.
   *
   * @param incoming the HTTP request, for entries with `visibleTo`. What its messages name is looked up once
   */
  lackedScopes(
    principal: Principal | undefined,
    request: Pick<RequestMessage, 'method' | 'params'>,
    incoming?: IncomingRequest,
  ): Promise<readonly string[]>
  /** Returns all scopes of a request, whether the principal has them or not. */
  scopesOf(
    principal: Principal | undefined,
    request: Pick<RequestMessage, 'method' | 'params'>,
    incoming?: IncomingRequest,
  ): Awaitable<readonly string[]>
  /** Returns a Durable Object of a plugin: see `Runtime.object`. */
  object<Rpc>(className: string, name: string): Rpc
  /** Returns functions that encrypt and authenticate values: see `Runtime.seals`. */
  seals(principal: Principal | undefined): Seals
  /** Returns the Durable Object that stores a state. */
  state(name: string): StateRpc
  /**
   * Returns the seals for documents of issuers in the cache that isolates share; `undefined` without `EDGEMCP_KEYS`. @throws Error for
   * malformed keys
   */
  documentSeals?(): DocumentSeals | undefined
  /** Continues work after the response. */
  waitUntil(work: Promise<unknown>): void
  /** Logs a problem. The client does not receive it. */
  report(problem: unknown): void
}

/** Describes until when a credential is accepted. */
export type Credential = {
  /** Milliseconds since 1970 from which it is not accepted any more. Default: never. */
  readonly expires?: number
  /** For a credential that can be revoked. Default: it cannot. */
  readonly recheck?: {
    /** Milliseconds since 1970 from which an open stream verifies it again before it sends something. */
    readonly at: number
    /** Verifies it. @throws any error when it is not accepted any more */
    verify(): Promise<Credential>
  }
}

/** Collects what is known about one HTTP request while it is served. */
export type IncomingRequest = {
  /** The HTTP request. */
  readonly request: Request
  /** The `ctx` of the Worker: `props` and `auth`, which wrappers such as OAuthProvider set. */
  readonly context: { readonly props?: unknown; readonly auth?: unknown }
  /** The authenticated caller, once known. */
  principal?: Principal | undefined
  /** The credential of `principal`, if it expires or can be revoked: the streams that the request opens end with it. */
  credential?: Credential
  /** What the option `requestContext` of `serve()` returned, once known. Other requests than a POST with calls have none. */
  requestContext?: RequestContext
  /** The JSON-RPC messages of the body, once parsed. */
  messages?: readonly Message[]
  /**
   * The requests of `messages` that a limit refused, with their errors, once all are counted. Their errors may be in a response with a
   * successful status: a batch, an event stream, a 202. `undefined` if nothing was counted.
   */
  refusals?: Promise<Map<Message, McpError>>
  /** Headers that `auth` adds to the response. Default: none. */
  responseHeaders?: Readonly<Record<string, string>>
  /** The error with which the request was rejected. */
  rejection?: McpError
}

/** Limits requests and calls: `rateLimit()` of `edgemcp/rate-limit`. */
export interface Limiter {
  /** Returns one text per caller: per user or, without a principal, per IP address. */
  callerOf?(incoming: IncomingRequest): string
  /** Counts one round of a call where it runs: in the Worker, or in the Durable Object of its session. */
  readonly countRound?: CountRound
  /**
   * Checks an HTTP request before the server opens a stream or a session for it, which `countRound` does not count.
   *
   * @returns the error of a rejected request, with the time after which to retry
   */
  check(incoming: IncomingRequest): Promise<McpError | undefined>
  /** Returns the declarations that need the Durable Object of states, such as `the rate "60/m" of rateLimit()`. Called in development only. */
  needsState?(declarations: Declarations): readonly string[]
  /** Returns the response, observed until it ends. */
  track?(incoming: IncomingRequest, response: Response): Response
}

/**
 * Observes each request to an endpoint once it has a response, which may be a stream that continues. Used by `audit()` of `edgemcp/audit`
 * and `observe({ all: true })` of `edgemcp/observe`.
 */
export type AuditHook = (incoming: IncomingRequest, response: Response, serverInfo: ServerInfo) => void

/** Describes a user that a developer enters in the inspector instead of a token. */
export type TestUser = {
  /** Claims of the token, without its issuer. */
  readonly claims: Readonly<Params>
  /** Value of the claim that names the tenant; `undefined` for a user without tenant. */
  readonly tenant: string | undefined
}

/**
 * Describes credentials by where a request carries them, and by how they look, whether they are valid or not.
 *
 * - `header`: all values of a header, such as `X-API-Key`.
 * - `prefix`: bearer tokens that start with this text.
 * - `pattern`: bearer tokens that match.
 * - `issuer`: bearer tokens that are JWTs with this `iss`.
 * - `tokens`: all other bearer tokens: `'opaque'` those that are no JWTs, `'any'` JWTs too.
 */
export type CredentialForm =
  | { readonly header: string }
  | { readonly prefix: string }
  | { readonly pattern: RegExp }
  | { readonly issuer: string }
  | { readonly tokens: 'opaque' | 'any' }

/** Authenticates and authorizes the callers of requests: see `Auth`. */
export interface RequestAuth extends StoredByIssuer {
  /** The only tenant whose principals it accepts, as `forTenant()` sets it. Default: principals of every tenant. */
  readonly tenant?: string | undefined
  /** The claim that names the tenant. If it is set, `forTenant()` rejects principals without this claim. Default: none. */
  readonly tenantClaim?: string | undefined
  /** Returns the claim that names the tenant of a principal, if it depends on the principal. Default: `tenantClaim` for all. */
  tenantClaimOf?(principal: Principal): string | undefined
  /** Whether callers for whom `authenticate` returns `undefined` are anonymous. Default: false; they are rejected with 401. */
  readonly allowAnonymous?: boolean | undefined
  /**
   * Names of the request headers that carry the credential, besides `Authorization` and `DPoP`. `ctx.request.headers` and the log of `audit()` do not
   * contain them. Default: none.
   */
  readonly credentialHeaders?: readonly string[] | undefined
  /** The credentials that it verifies: `oneOf()` gives it these, and no others. Default: none; `oneOf()` does not accept the auth. */
  readonly credentials?: readonly CredentialForm[] | undefined
  /** Checks the declarations of a server, once. @throws Error when they need something that is missing. The message names the fix */
  validate?(server: Server): void
  /**
   * Authenticates the caller of a request.
   *
   * @returns the principal; `undefined` for a request without a valid credential. With `allowAnonymous`, its caller is anonymous, and may use
   * entries without scopes
   * @throws McpError `unauthorized`, to say what is wrong with the credential
   */
  authenticate(request: Request, serverInfo: ServerInfo, incoming: IncomingRequest): Promise<Principal | undefined>
  /**
   * Returns the principal of a test user: the one that `authenticate` returns for a token with these claims. Called in development only.
   * Default: the principal has the subject, scopes and tenant that the developer entered.
   *
   * @throws McpError as `authenticate` does
   */
  authenticateTestUser?(
    user: TestUser,
    request: Request,
    serverInfo: ServerInfo,
    incoming: IncomingRequest,
  ): Promise<Principal>
  /**
   * Decides before a stream is opened, a handler runs or a Durable Object is called whether the principal may send the messages. Default:
   * only calls that lack scopes are rejected, later.
   *
   * @returns the error of a rejected request, which names the required scopes
   */
  authorize?(incoming: IncomingRequest, serverInfo: ServerInfo): Promise<McpError | undefined>
  /** Paths of `handleRequest` besides those of metadata, such as `/authorize`, for `combine()`. Default: none. */
  readonly routes?: readonly string[] | undefined
  /** Answers a request outside of the endpoints: metadata, and the pages of `signIn()`. `undefined` for a path that it does not serve. */
  handleRequest?(request: Request, serverInfo: ServerInfo): Promise<Response> | undefined
}
