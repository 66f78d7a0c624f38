/**
 * Access: the principal of a request, what it may do, and how its calls are counted. There is one decision per request, before a stream is
 * opened, a handler runs or a Durable Object is called. What runs the calls receives the decision as an `Access`.
 */
import type { PostedRefusals } from '../../durable-objects/session/rpc.ts'
import type { CallAttempt } from '../declarations/call-attempt.ts'
import type { HttpRequest } from '../declarations/http-request.ts'
import { emptyContext, type RequestContext } from '../declarations/request-context.ts'
import { noSignal, stepError } from '../engine/failure.ts'
import type { Target } from '../engine/methods/method.ts'
import { insufficientScope } from '../engine/required-scopes.ts'
import { resolve } from '../engine/resolve.ts'
import { checkCaller } from '../protocol/check-principal.ts'
import { asMcpError, McpError } from '../protocol/errors.ts'
import { isRequest, type Message, type RequestMessage } from '../protocol/jsonrpc.ts'
import type { Principal } from '../protocol/principal.ts'
import { oldestRevision, revisionOf } from '../protocol/revisions/index.ts'
import type { Credential, IncomingRequest, RequestAuth } from '../request-hooks.ts'
import { addressOf, callerOfMessage, httpRequestOf } from './caller.ts'
import { errorResponse, idOf } from './error-response.ts'
import type { Host } from './host.ts'

/**
 * Returns the principal of a request; a promise only if the endpoint has `auth`.
 *
 * @throws McpError `unauthorized`
 */
export function authenticate(
  request: Request,
  host: Host,
  incoming: IncomingRequest,
): Promise<Principal | undefined> | undefined {
  return host.auth && authenticateWith(host.auth, request, host, incoming)
}

async function authenticateWith(
  auth: RequestAuth,
  request: Request,
  host: Host,
  incoming: IncomingRequest,
): Promise<Principal | undefined> {
  const principal = checkCaller(auth, await auth.authenticate(request, host, incoming))
  // Whatever the auth of a tenant is: state, quotas and handles of a tenant are found by that of the principal.
  if (host.tenant !== undefined && principal && principal.tenant !== host.tenant) {
    throw new McpError(
      'forbidden',
      `This address is of the tenant "${host.tenant}", and the caller is not of this tenant`,
    )
  }
  incoming.principal = principal
  return principal
}

/**
 * Decides whether the principal of a request may send its messages: by the scopes of the calls, then by the limits on streams and
 * handshakes. Calls are counted where they run: see `Access.countRound`.
 *
 * @param messages of a POST; none for a GET
 * @returns a response that rejects the request, or the decision for what runs the calls
 */
export function decideAccess(
  messages: readonly Message[],
  host: Host,
  incoming: IncomingRequest,
): Access | Promise<Access | Response> {
  incoming.messages = messages
  // Nothing rejects a request of a public endpoint.
  const isPublic = !host.auth && !host.limit && !host.readContext
  return isPublic ? new Access(messages, host, incoming) : decideProtected(messages, host, incoming)
}

async function decideProtected(
  messages: readonly Message[],
  host: Host,
  incoming: IncomingRequest,
): Promise<Access | Response> {
  const error = (await host.auth?.authorize?.(incoming, host)) ?? (await host.limit?.check(incoming))
  if (!error) return (await rejectionOfContext(messages, host, incoming)) ?? new Access(messages, host, incoming)
  incoming.rejection = error
  return errorResponse(error, idOf(messages))
}

/**
 * Reads the request context of a POST with requests. Other HTTP requests run no handler, or continue a call that has a request context.
 *
 * @returns the response that rejects the request, if the option `requestContext` of `serve()` throws
 */
async function rejectionOfContext(
  messages: readonly Message[],
  host: Host,
  incoming: IncomingRequest,
): Promise<Response | undefined> {
  const { readContext, report } = host
  const request = readContext && messages.find(isRequest)
  if (!request) return undefined
  try {
    incoming.requestContext = await readContext(incoming)
    return undefined
  } catch (thrown) {
    // Its headers may be immutable, and CORS adds some.
    if (thrown instanceof Response) return new Response(thrown.body, thrown)
    incoming.rejection = asMcpError(await contextError(thrown, request, host, incoming), report)
    return errorResponse(incoming.rejection, idOf(messages))
  }
}

/** Converts what the option `requestContext` threw into the error for the client, and reports it as what handlers throw. */
async function contextError(thrown: unknown, message: RequestMessage, host: Host, incoming: IncomingRequest) {
  const { method, params = {} } = message
  const { principal } = incoming
  const { protocolVersion = '', ...caller } = await callerOfMessage(host, principal, message, incoming)
  const revision = revisionOf(protocolVersion) ?? oldestRevision
  return stepError(host.server.declarations, { ...caller, method, params, revision, principal }, noSignal, thrown)
}

/** What messages name, for the caller who sent them. */
const targets = new WeakMap<object, Target>()

/**
 * Returns what a message of a request names. Access, limits, the call and its response use the same one.
 *
 * @param principal the caller. For another one than that of the request, the message is looked up again: a target keeps what was decided
 */
export function targetOf(
  message: Pick<RequestMessage, 'method' | 'params'>,
  { server }: Pick<Host, 'server'>,
  principal: Principal | undefined,
  incoming: Pick<IncomingRequest, 'principal'> | undefined,
): Target {
  const isCaller = incoming && incoming.principal === principal
  const target = (isCaller && targets.get(message)) || resolve(server.declarations, message)
  if (isCaller) targets.set(message, target)
  return target
}

/** The decision on a request that may be served. */
export class Access {
  readonly principal: Principal | undefined
  /** The caller that limits count its calls for; `undefined`: the endpoint has no limits. */
  readonly caller: string | undefined
  readonly #messages: readonly Message[]
  readonly #host: Host
  readonly #incoming: IncomingRequest

  constructor(messages: readonly Message[], host: Host, incoming: IncomingRequest) {
    this.principal = incoming.principal
    this.caller = host.limit?.callerOf?.(incoming)
    this.#messages = messages
    this.#host = host
    this.#incoming = incoming
  }

  /** The request context; empty without the option `requestContext` of `serve()`. */
  get requestContext(): RequestContext {
    return this.#incoming.requestContext ?? emptyContext
  }

  /** Until when the streams of the request may stay open. */
  get credential(): Credential | undefined {
    return this.#incoming.credential
  }

  /** The HTTP request, as handlers get it. */
  get request(): HttpRequest {
    return httpRequestOf(this.#incoming.request, this.#host)
  }

  /** IP address of the client, if the platform provides it. */
  get address(): string | undefined {
    return addressOf(this.#incoming.request)
  }

  /**
   * Counts one round of a call that runs in this Worker. Every round of a stateless call counts, because a client can send the same state
   * again. Audit logs read from `IncomingRequest.refusals` which calls were rejected, so the first rounds of all calls of a POST are
   * counted before anything is awaited.
   *
   * @param signal of the call
   * @param sees returns whether the caller sees an entry
   * @returns a function to call when the round has ended; `undefined` without limits
   * @throws McpError `too_many_requests` or `content_too_large`
   */
  countRound(
    message: RequestMessage,
    { found }: Target,
    signal: () => AbortSignal,
    sees: CallAttempt['sees'],
  ): Promise<() => void> | undefined {
    if (this.caller === undefined) return undefined
    const counting = this.#host.limit?.countRound?.({
      params: message.params,
      principal: this.principal,
      entries: found.entries,
      caller: this.caller,
      post: this,
      isResumed: false,
      sees,
      parked: () => [],
      signal,
      endsWithSignal: true,
    })
    if (counting) this.#recordRefusal(message, counting)
    return counting
  }

  /** Returns the scopes of each message, for a session, which cannot unseal the handles in their params without an `await`. */
  scopesOfMessages(): Promise<(readonly string[])[]> {
    return Promise.all(
      this.#messages.map((message) =>
        'method' in message ? this.#host.scopesOf(this.principal, message, this.#incoming) : [],
      ),
    )
  }

  /**
   * Rejects a request that resumes a stream, answers an input request or cancels a call: it needs the scopes of that call, which only the
   * session knows.
   */
  async rejectForScopes(scopes: readonly string[]): Promise<Response> {
    const { auth } = this.#host
    const call: RequestMessage = { jsonrpc: '2.0', id: 0, method: 'tools/call' }
    const serverInfo = { ...this.#host, lackedScopes: async () => scopes }
    const error =
      (await auth?.authorize?.({ ...this.#incoming, messages: [call] }, serverInfo)) ?? insufficientScope(scopes)
    this.#incoming.rejection = error
    return errorResponse(error)
  }

  /** Records the calls that limits rejected in the Durable Object of a session: see `IncomingRequest.refusals`. */
  recordRefusals({ refusals = [] }: PostedRefusals): void {
    for (const { index, kind, message, data } of refusals) {
      const refused = this.#messages[index]
      if (refused) this.#recordRefusal(refused, new McpError(kind, message, data))
    }
  }

  /** @param error an error, or a promise that rejects with one */
  #recordRefusal(message: Message, error: unknown): void {
    const others = this.#incoming.refusals
    const refusal = Promise.resolve(error).catch((thrown) => thrown)
    this.#incoming.refusals = (async () => {
      const refusals = (await others) ?? new Map<Message, McpError>()
      const refused = await refusal
      if (refused instanceof McpError) refusals.set(message, refused)
      return refusals
    })()
  }
}
