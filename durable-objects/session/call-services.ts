/** What a session does for its calls: the environment of each call, `initialize` over HTTP+SSE, and the methods that change the session. */
import type { CallerContext } from '../../worker/declarations/caller.ts'
import type { Declarations } from '../../worker/declarations/declarations.ts'
import type { HttpRequest } from '../../worker/declarations/http-request.ts'
import type { RequestContext } from '../../worker/declarations/request-context.ts'
import type { Server } from '../../worker/declarations/server.ts'
import type { Call, CallEnvironment } from '../../worker/engine/call.ts'
import { callerOf } from '../../worker/engine/caller.ts'
import type { Cancellation } from '../../worker/engine/cancellation.ts'
import { notifyOfClient } from '../../worker/engine/methods/initialize.ts'
import type { InitializeMethod, NegotiatedSession, SessionControls } from '../../worker/engine/methods/method.ts'
import { openContext } from '../../worker/engine/request-context.ts'
import { wait } from '../../worker/engine/wait.ts'
import { McpError } from '../../worker/protocol/errors.ts'
import { notificationText, type RequestMessage } from '../../worker/protocol/jsonrpc.ts'
import { defaultLogLevel } from '../../worker/protocol/meta.ts'
import { revisionOf } from '../../worker/protocol/revisions/index.ts'
import type { Result } from '../../worker/protocol/types.ts'
import type { AddedSubscriptions } from './added-parts.ts'
import { elicitationId } from './input-requests.ts'
import type { Lifetime } from './lifetime.ts'
import type { PendingPost, SessionCall } from './pending-post.ts'
import type { Replies } from './replies.ts'
import type { ForwardedHttpRequest, Post } from './rpc.ts'
import type { SessionHost } from './session-host.ts'
import type { SessionValues } from './session-values.ts'

export class CallServices {
  readonly #host: SessionHost
  readonly #values: SessionValues
  readonly #lifetime: Lifetime
  readonly #replies: Replies
  readonly #subscriptions: AddedSubscriptions | undefined
  readonly #canFollowTasks: boolean

  constructor(
    host: SessionHost,
    values: SessionValues,
    lifetime: Lifetime,
    replies: Replies,
    subscriptions: AddedSubscriptions | undefined,
    canFollowTasks: boolean,
  ) {
    this.#host = host
    this.#values = values
    this.#lifetime = lifetime
    this.#replies = replies
    this.#subscriptions = subscriptions
    this.#canFollowTasks = canFollowTasks
  }

  /** Whether the endpoint of the session has `subscriptions()`. */
  get updates(): boolean {
    return this.#subscriptions !== undefined
  }

  /** Returns a call in the form of the engine. @param requestContext that of the call, unsealed */
  callOf(
    { revision }: PendingPost,
    { request, handshake, principal, session, http, address }: SessionCall,
    requestContext: RequestContext,
  ): Call {
    return {
      method: request.method,
      params: request.params ?? {},
      revision,
      capabilities: revision.client(handshake.capabilities),
      client: handshake.client,
      principal,
      requestContext,
      request: httpRequestFrom(http, address),
      session: { id: session },
      requestId: request.id,
      logLevel: this.#values.get('logLevel') ?? defaultLogLevel,
    }
  }

  /** @param cancellation once it is aborted, the call sends nothing */
  environmentOf(
    post: PendingPost,
    call: SessionCall,
    cancellation: Cancellation,
    batch: object | undefined,
  ): CallEnvironment {
    const { principal, tenant, expires } = call
    const { epoch } = this.#lifetime
    const send: CallEnvironment['notify'] = (notification, sentCount) => {
      const written = post.revision.notification(notification)
      if (written && !cancellation.isAborted) this.#replies.notify(post, notificationText(written), call, sentCount)
    }
    return {
      signal: () => cancellation.signal,
      post: batch ?? post,
      seals: this.#host.at(tenant).seals(principal),
      state: {
        object: this.#host.state,
        session: {
          name: this.#lifetime.name,
          expires,
          addStateObject: (state) => this.#lifetime.addStateObject(state, expires, epoch),
        },
      },
      updates: this.updates,
      canFollowTasks: this.#canFollowTasks,
      known: ({ method }) => (method === 'roots/list' ? this.#values.get('roots') : undefined),
      notify: send,
      now: Date.now,
      sleep: (untilMs) => wait(untilMs - Date.now(), cancellation.signal),
      closeStream: (retry) => {
        if (!cancellation.isAborted) this.#replies.release(post, expires, retry)
      },
      completed(question, sentCount, id = elicitationId(call.row, question)) {
        const params = { elicitationId: id }
        send({ method: 'notifications/elicitation/complete', params }, sentCount)
      },
      report: this.#host.report,
    }
  }

  /**
   * Returns what the methods of a session change.
   *
   * @param caller returns the caller
   * @param signal when it is aborted, the call ends without a change
   */
  controlsOf(
    call: SessionCall,
    { declarations: { hooks } }: Server,
    signal: AbortSignal,
    caller: () => CallerContext,
  ): SessionControls {
    const unsubscribed = async (uri: string) => {
      try {
        await hooks?.onUnsubscribe?.({ ...caller(), uri })
      } catch (problem) {
        this.#host.report(problem)
      }
    }
    return {
      setLogLevel: (level) => {
        this.#lifetime.scheduleExpiry(call.expires)
        this.#values.put('logLevel', level)
      },
      subscribe: async (uri) => {
        const subscription = {
          onSubscribe: async () => hooks?.onSubscribe?.({ ...caller(), uri }),
          onUnsubscribe: () => unsubscribed(uri),
        }
        await this.#subscriptions?.subscribe(uri, call, signal, caller(), subscription)
      },
      unsubscribe: async (uri) => {
        await this.#subscriptions?.unsubscribe(uri, call)
        if (hooks?.onUnsubscribe) await unsubscribed(uri)
      },
    }
  }

  /**
   * Answers `initialize` of a session over HTTP+SSE. The Worker answers that of other sessions. Stores the handshake last, in one turn with the
   * response: if the object is lost before, or anything fails, the client may initialize again.
   *
   * @throws McpError `invalid_request` for a session that is initialized; `session_not_found` for one that ended meanwhile
   */
  async initialize(
    method: InitializeMethod,
    { revision }: PendingPost,
    request: RequestMessage,
    from: Post,
  ): Promise<Result> {
    const { epoch } = this.#lifetime
    const check = () => {
      if (epoch !== this.#lifetime.epoch) throw new McpError('session_not_found', 'The session has ended')
      if (from.handshake || this.#values.get('handshake')) {
        throw new McpError('invalid_request', 'This session is already initialized')
      }
    }
    check()
    const negotiated = method.negotiate(request.params)
    const { server, seals } = this.#host.at(from.tenant)
    const { declarations } = server
    const agreed = revisionOf(negotiated.version) ?? revision
    const { principal, http, address } = from
    const caller = callerOf({
      principal,
      client: negotiated.client,
      capabilities: agreed.client(negotiated.capabilities),
      requestContext: await openContext(from.requestContext, seals(principal)),
      request: httpRequestFrom(http, address),
      protocolVersion: agreed.date,
    })
    await notifyOfClient(declarations, agreed, caller, from.session)
    const features = { updates: this.updates, hasSessions: true }
    const result = await method.answer(declarations, agreed, features, caller)
    // After each wait, the stream may have been closed, or another request may have initialized the session.
    check()
    // A client that has the response misses no change. After a failure, the next POST repeats the registration.
    await this.#subscriptions?.listen(principal).catch(this.#host.report)
    check()
    this.#values.put('handshake', negotiated)
    this.setOwner(declarations, negotiated, from)
    return result
  }

  /** Stores the owner of the session, if a plugin has `onSessionEnd`. */
  setOwner({ hooks }: Declarations, { client }: NegotiatedSession, { principal, tenant, expires }: Post): void {
    if (hooks?.onSessionEnd) this.#lifetime.setOwner({ client, principal, tenant }, expires)
  }
}

/** @param address IP address of the client @returns the HTTP request as handlers get it; `undefined` without one */
const httpRequestFrom = (
  http: ForwardedHttpRequest | undefined,
  address: string | undefined,
): HttpRequest | undefined => http && new HttpRequestFromPost(http, address)

/** Most handlers read no headers, and creating them takes as long as a tenth of a short call. */
class HttpRequestFromPost implements HttpRequest {
  readonly method = 'POST'
  readonly url: string
  readonly address: string | undefined
  #headers: string | Headers

  constructor({ url, headers }: ForwardedHttpRequest, address: string | undefined) {
    this.url = url
    this.address = address
    this.#headers = headers
  }

  get headers(): Headers {
    if (typeof this.#headers === 'string') this.#headers = readLines(this.#headers)
    return this.#headers
  }
}

function readLines(lines: string): Headers {
  const headers = new Headers()
  for (const line of lines.split('\n')) {
    const [name = '', ...value] = line.split(': ')
    if (name) headers.append(name, value.join(': '))
  }
  return headers
}
