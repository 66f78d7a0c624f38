/** What the endpoint asks for each request: who makes it, whether it may, how much it may, and who wants to know of it. */
import type { CallAttempt } from './declarations/call-attempt.ts'
import type { Declarations } from './declarations/declarations.ts'
import type { Server } from './declarations/server.ts'
import type { StateRpc } from './declarations/state.ts'
import type { StoredPrincipals } from './declarations/stored-principal.ts'
import type { McpError } from './protocol/errors.ts'
import type { Message, RequestMessage } from './protocol/jsonrpc.ts'
import type { Principal } from './protocol/principal.ts'
import type { Params } from './protocol/types.ts'
import type { Sealer } from './sealing/seal.ts'

/** Seals for the identity of a server, with keys that other Workers do not have. */
export type DocumentSeals = { readonly sealer: Sealer; readonly identity: string }

/** The server that a request is for, as far as deciding on it needs to know. */
export interface ServerInfo {
  readonly server: Server
  readonly auth: Auth | undefined
  /** Clients can have sessions and streams. */
  readonly hasSessions: boolean
  /** Of the endpoint for all revisions, and of the pair beside it. */
  readonly paths: { readonly mcp: string; readonly sse: string; readonly messages: string }
  /** All scopes of what a request is about, if the principal lacks one of them. */
  lackedScopes(
    principal: Principal | undefined,
    request: Pick<RequestMessage, 'method' | 'params'>,
  ): Promise<readonly string[]>
  /** All scopes that a request takes, whether the principal has them or not. */
  scopesOf(
    principal: Principal | undefined,
    request: Pick<RequestMessage, 'method' | 'params'>,
  ): Promise<readonly string[]>
  /** The object that keeps a state. */
  state(name: string): StateRpc
  /** Returns what seals issuers' documents in the cache that isolates share; `undefined` without `EDGEMCP_KEYS`. @throws Error when these are malformed */
  documentSeals?(): DocumentSeals | undefined
  waitUntil(work: Promise<unknown>): void
  /** Logs a problem. The client does not get it. */
  report(problem: unknown): void
}

/** What becomes known about one request. */
export type IncomingRequest = {
  readonly request: Request
  /** What was handed to the Worker beside it: `ctx`. */
  readonly context: { readonly props?: unknown; readonly auth?: unknown }
  principal?: Principal | undefined
  messages?: readonly Message[]
  /**
   * The requests of `messages` that a limit refused, with their errors, once all of them were counted. Their errors may be in a response that
   * is no refusal: a batch, an event stream, a 202. `undefined`: nothing was counted.
   */
  refusals?: Promise<Map<Message, McpError>>
  /** Why it was not served. */
  rejection?: McpError
}

/** Decides how much may be asked: `rateLimit()` of `edgemcp/rate-limit`. */
export interface Limiter {
  /** Looks over what was declared, once. @throws Error with one sentence that names the fix */
  validate?(server: Server): void
  /** Milliseconds that handlers of its endpoint may run; left out: no limit. `validate` sees to it. */
  readonly handlerTimeMs?: number
  /** One text for each caller: a principal, or an address. */
  callerOf?(incoming: IncomingRequest): string
  /**
   * Counts one round of a call where it runs: in the Worker, or in the Durable Object of its session.
   *
   * @returns what to call when the round has ended
   * @throws McpError `too_many_requests` or `content_too_large`
   */
  countRound?(attempt: CallAttempt, serverInfo: Pick<ServerInfo, 'server' | 'state'>): Promise<() => void>
  /**
   * Looks at an HTTP request before anything is opened for it: at streams and handshakes, which `countRound` does not see.
   *
   * @returns the refusal, which says when to come back
   */
  check(incoming: IncomingRequest, serverInfo: ServerInfo): Promise<McpError | undefined>
  /** In development only: what of a server the class of states is needed for, such as `the rate "60/m" of rateLimit()`. */
  needsState?(declarations: Declarations): readonly string[]
  /** The response, watched until it ends. */
  track?(incoming: IncomingRequest, response: Response): Response
}

/**
 * Called for every request to an endpoint, once it has a response, which may be a stream that goes on: `audit()` of `edgemcp/audit`,
 * `observe({ all: true })` of `edgemcp/observe`.
 */
export type AuditHook = (incoming: IncomingRequest, response: Response, serverInfo: ServerInfo) => void

/** A user that a developer makes up in the inspector, in the place of a token. */
export type TestUser = {
  /** What the token would claim, except its issuer. */
  readonly claims: Readonly<Params>
  /** For the claim that names the tenant. */
  readonly tenant: string | undefined
}

/** Decides who makes a request and whether it may, and says how to be let in. */
export interface Auth extends StoredPrincipals {
  /** The one tenant whose principals it admits: that of `forTenant`. */
  readonly tenant?: string | undefined
  /** The claim that names the tenant, if a claim does: `forTenant` refuses principals without it. */
  readonly tenantClaim?: string | undefined
  /** Looks over what was declared, once. @throws Error with one sentence that names the fix */
  validate?(server: Server): void
  /**
   * @returns the principal; `undefined`: an anonymous caller, who may use what takes no scopes
   * @throws McpError `unauthorized` when the request carries no credential that is good here
   */
  authenticate(request: Request, serverInfo: ServerInfo, incoming: IncomingRequest): Promise<Principal | undefined>
  /**
   * Returns the principal of a made-up user: what `authenticate` returns for a token with these claims. Called in development
   * only. Left out, the principal has the subject, scopes and tenant that the developer typed.
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
   * Before anything is streamed, run or woken: may the principal send these messages? Left out, only what lacks scopes is
   * refused, and later.
   *
   * @returns the refusal, which says what it takes
   */
  authorize?(incoming: IncomingRequest, serverInfo: ServerInfo): Promise<McpError | undefined>
  /** Answers what is no request to an endpoint: metadata. `undefined`: it has nothing to say to this. */
  handleMetadataRequest?(request: Request, serverInfo: ServerInfo): Promise<Response> | undefined
}
