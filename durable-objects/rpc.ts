/** The RPC interfaces between Workers and Durable Objects. Types only, so that `worker/` can import them. */

import type { Checked } from '../worker/declarations/schema.ts'
import type { Answer } from '../worker/engine/journal.ts'
import type { NegotiatedSession } from '../worker/engine/methods/method.ts'
import type { StoredContext } from '../worker/engine/request-context.ts'
import type { ServerEvent, SubscriberCount } from '../worker/protocol/changes.ts'
import type { ErrorKind } from '../worker/protocol/errors.ts'
import type { Message } from '../worker/protocol/jsonrpc.ts'
import type { Principal } from '../worker/protocol/principal.ts'
import type { ClientCapabilities, Implementation, InputRequest, Params, Result } from '../worker/protocol/types.ts'
import type { KeyRing } from '../worker/sealing/seal.ts'

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
  /** The response is this stream: open a relay, unless it has ended and `frames` are all its server-sent events, or it can be followed. */
  | ({ stream: number; frames?: string; following?: Following } & PostedRefusals)
  /** The session does not exist. */
  | { gone: true }
  /** The POST answers an input request of a call with these scopes, or cancels the call, and its token lacks one of them. */
  | { lacks: readonly string[] }

/** The start of a stream that continues, and how the Worker gets the rest. Most streams end soon, and need no relay. */
export type Following = Followed & {
  /** Waits for the next messages. @param relay names the relay that may continue the stream */
  readonly next: ((relay: string) => Promise<Followed>) & Partial<Disposable>
}

/** What a stream sends to a Worker that follows it. */
export type Followed = {
  /** Messages of a relay, see `relay-messages.ts`. */
  readonly messages: readonly string[]
  /** The close code of a relay: nothing more follows. */
  readonly code?: number | undefined
}

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

/** The RPC interface of an object that stores one request state. */
export interface RequestStateRpc {
  /** @param expires milliseconds since 1970: until when the state is stored */
  put(text: string, expires: number): Promise<void>
  get(): Promise<string | undefined>
  /**
   * Uses a state. The first use is answered by its caller, with `keep`; the same use again waits for that answer.
   *
   * @param use the request that uses the state
   * @param isLate the time for the response is over: a repeated use gets the first outcome, a first use is rejected
   */
  consume(use: string, expires: number, isLate?: boolean): Promise<Consumed>
  /** Extends the lease of the first use while its caller works on the answer. */
  extend(): Promise<void>
}

/**
 * The result of a use, if it has no answer.
 *
 * - `first`: the caller has to answer
 * - `late`: the state was not used in time
 * - `lost`: the same use came before, and the Worker that had to answer has stopped
 * - `working`: the same use came before, and that Worker is still at work
 * - `other`: another use came before
 */
export type Consumed = { is: 'first' | 'late' | 'lost' | 'working' | 'other' } | { is: 'answered'; text: string }

/** The RPC interface of a subscriptions object, for Workers, sessions and other objects of its class. */
export interface SubscriptionsRpc {
  /**
   * Publishes a change to every stream and session that has subscribed to one of the topics. Resolves when the delivery is certain.
   *
   * @param shards the number of objects that receive the change: the first object knows it, and passes it on
   */
  publish(change: ServerEvent, topics: readonly string[], shards?: number): Promise<void>
  /** Returns false if the session, its caller or this object has too many subscriptions to resources. */
  subscribe(session: string, topics: readonly string[], subscriber?: Subscriber): Promise<boolean>
  unsubscribe(session: string, topics: readonly string[]): Promise<void>
  /**
   * Counts the streams and sessions that receive a change with these topics.
   *
   * @param shards the number of objects that are asked: see `publish`
   */
  countSubscribers(topics: readonly string[], shards?: number): Promise<SubscriberCount>
  /** Returns whether a session has subscribed to one of the topics. */
  hasSubscribed(session: string, topics: readonly string[]): Promise<boolean>
  /**
   * Removes a session. Returns true if it was subscribed to resources.
   *
   * @param keepsLists removes the subscriptions to resources only. Default: false
   */
  unsubscribeAll(session: string, keepsLists?: boolean): Promise<boolean>
  /** Enables or disables an entry of the server and, if that changes the entry, publishes the change of its list. First object only. */
  setEnabled(key: string, isEnabled: boolean, change: ServerEvent, topics: readonly string[]): Promise<void>
  /** Returns which entries were enabled or disabled. First object only. */
  enabledOverrides(): Promise<Readonly<Record<string, boolean>>>
  /** Registers another shard at the first object. */
  addShard(shard: number): Promise<void>
  /**
   * Opens a relay of changes. Each message has a `ServerEvent` as JSON, and its `seq` as id: see `relay-messages.ts`. An empty one only
   * moves the position of the stream. The topics are a JSON list in a header. `?listener=` names the caller, `?most=` is the maximum number
   * of its streams, `?after=` continues after a message. 410: that message was deleted. 429: too many streams.
   */
  fetch(request: Request): Promise<Response>
}

/** The caller of a subscription. `owner`: see `ownerKey`; `undefined` for an anonymous caller. */
export type Subscriber = { owner: string | undefined; address: string | undefined }

/** The subscriptions objects of a server. */
export type Shards = {
  /** Returns the shard of a stream or a session, by a text that names it. */
  of(name: string): number
  at(shard: number): SubscriptionsRpc
}

/** The RPC interface of an object that stores a key ring. */
export interface KeysRpc {
  /** Returns the key ring. @param mint creates it if none is stored */
  keys(mint: boolean): Promise<KeyRing | undefined>
}

/** The RPC interface of an object that stores used DPoP proofs of one key. */
export interface UsedProofsRpc {
  /**
   * Uses a proof.
   *
   * @param id the hash of `jti`
   * @param expires milliseconds since 1970: until when all proofs are stored; the same for all proofs of the object
   * @returns `used` for a proof that was used before; `full` if no more can be stored
   */
  useProof(id: string, expires: number): Promise<'first' | 'used' | 'full'>
}

/** The RPC interface of objects of the session class that are not sessions: see `store/object.ts`. */
export interface StoreRpc extends KeysRpc, RequestStateRpc, UsedProofsRpc {}

/** The RPC interface of a task. Methods of a task that does not exist return `undefined`. */
export interface TaskRpc extends TaskListRpc {
  /**
   * Starts a call, or continues it.
   *
   * @param answers the responses to input requests from before the call became a task
   * @param isResumed the client has a `requestState` of the call: if nothing of the call is stored, it is not started again
   */
  start(
    call: TaskCall,
    terms: TaskTerms,
    references: TaskReferences,
    answers: Readonly<Record<string, Answer>>,
    isResumed: boolean,
  ): Promise<StartResult>
  get(): Promise<TaskView | undefined>
  /** Returns the scopes of the tool that started the task. */
  scopes(): Promise<readonly string[] | undefined>
  /** Waits for some time for the end of the run, then returns the task. */
  settled(): Promise<TaskView | undefined>
  /** Stores responses to open input requests, and ignores others. `error`: a response is invalid, and none was stored. */
  update(answers: Readonly<Record<string, Answer>>): Promise<{ task: TaskView } | { error: TaskError } | undefined>
  /** Cancels the task unless it has ended. `before`: its status until now. */
  cancel(): Promise<{ before: TaskStatus; task: TaskView } | undefined>
  /** Sends the current status, and each later one, to clients that listen at this shard. */
  watch(shard: number): Promise<void>
}

/** The call of a task, and its caller. */
export type TaskCall = {
  readonly params: Params
  readonly capabilities: ClientCapabilities
  readonly client: Implementation | undefined
  /** The principal, sealed by `worker/plugins/tasks/task-principal.ts`; `undefined` for an anonymous caller. */
  readonly principal: string | undefined
  /** The tenant of the endpoint: see `Tenants`. */
  readonly tenant?: string | undefined
  /** The request context of the call. Absent without one. */
  readonly requestContext?: StoredContext | undefined
  /**
   * The validated arguments, or why they are invalid, if that was decided when the tool was called. Absent where each run validates the
   * params.
   */
  readonly input?: Checked | undefined
}

/** The options of a task. Durations are milliseconds. */
export type TaskTerms = {
  /** How long the call waits for its result before it becomes a task. */
  readonly after: number
  readonly ttl: number
  /** Pause between two polls of a client. */
  readonly poll: number
  /** How often the handler runs again after it throws. */
  readonly retries: number
}

/** How other objects and clients refer to a task. */
export type TaskReferences = {
  /** Name of its Durable Object. */
  readonly name: string
  /** The id that its client has. */
  readonly taskId: string
  /** The object of the session that receives its status. */
  readonly session: string | undefined
  /** Scopes that a token needs to read, answer and cancel it. */
  readonly scopes: readonly string[]
}

export type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'

export type TaskError = {
  readonly kind: ErrorKind
  readonly message: string
  readonly data?: unknown
}

/** The outcome of a task. A cancelled task has neither. */
export type TaskEnd = { readonly result?: Result; readonly error?: TaskError }

/** The outcome of a call that ended before it became a task, or the task. */
export type StartResult =
  | { readonly task: TaskView }
  | { readonly done: Result }
  | { readonly error: TaskError }
  | { readonly inputRequests: Readonly<Record<string, InputRequest>> }

/** A task as its client sees it. Times are milliseconds since 1970, `ttl` and `poll` milliseconds. */
export type TaskView = TaskEnd & {
  readonly taskId: string
  readonly status: TaskStatus
  readonly statusMessage?: string | undefined
  readonly createdAt: number
  readonly lastUpdatedAt: number
  readonly ttl: number
  readonly poll: number
  /** When it continues, or when its open input requests time out. */
  readonly due?: number | undefined
  /** Rounds that have ended with input requests. */
  readonly rounds: number
  readonly inputRequests?: Readonly<Record<string, InputRequest>>
  /** Name of its tool, once the task has ended. */
  readonly tool?: string
}

/** The RPC interface of an object that stores a list of tasks. */
export interface TaskListRpc {
  /** @param expires milliseconds since 1970 */
  list(task: ListedTask, expires: number): Promise<void>
  /** Returns the tasks after a position, in the order in which they started. */
  listed(after: number, limit: number): Promise<{ tasks: ListedTask[]; next: number | undefined }>
}

export type ListedTask = { readonly name: string; readonly taskId: string }

/** Where the authorization server of sign-in is, as the endpoint that received a request derives it. */
export type OAuthSite = {
  /** The issuer: scheme, host and port of the endpoint. */
  readonly origin: string
  /** The identity of the endpoint: see `identity` of `serve()`. */
  readonly identity: string
  /** URLs of the endpoint, which tokens name as their audience. The first is the default. */
  readonly resources: readonly string[]
  /** All scopes that the endpoint declares. */
  readonly scopes: readonly string[]
}

/** A key of sign-in, without its value. `expires`: milliseconds since 1970. */
export type StoredKey = { readonly name: string; readonly metadata?: unknown; readonly expires?: number | undefined }

/** Tokens of one user for the API of a provider. */
export type KeptTokens = {
  readonly accessToken: string
  readonly refreshToken?: string | undefined
  /** Milliseconds since 1970: when the access token expires. */
  readonly expires?: number | undefined
  readonly scopes: readonly string[]
  /** How often the user was asked for each scope that the provider did not grant. */
  readonly refused?: Readonly<Record<string, number>> | undefined
  /** Milliseconds since 1970: when the user last replaced rejected access tokens. */
  readonly replaced?: readonly number[] | undefined
  /** Claims of the ID token, if the provider issued one with them. */
  readonly idToken?: Readonly<Params> | undefined
  /** Id of the account at the provider. */
  readonly account: string
  /** Milliseconds since 1970: when the sign-in asked the provider for them. */
  readonly askedAt?: number | undefined
  /** Who issued them, and to which client. */
  readonly issuer?: string | undefined
  readonly clientId?: string | undefined
  /** Whether the provider refused the tokens: the user is signed out until the next sign-in. */
  readonly isRefused?: boolean | undefined
  /** Whether a handler says that its API refused the access token, which cannot be refreshed. */
  readonly isRejected?: boolean | undefined
  /** Tokens of a later sign-in, with fewer scopes: they take the place of these, once these cannot be used. */
  readonly fallback?: KeptTokens | undefined
  /** Scopes of the tokens whose place these took. They are requested again when the user connects the provider. */
  readonly lostScopes?: readonly string[] | undefined
}

/** An access token for the API of a provider; or what is missing: the tokens, scopes of them, or the answer of the provider. */
export type UpstreamAnswer =
  | { readonly accessToken: string; readonly expires?: number | undefined }
  | { readonly missing: 'answer' }
  | {
      readonly missing: 'tokens' | 'scopes'
      /** The scopes that the tokens have, or had before they were revoked. */
      readonly held: readonly string[]
      /** How often the user was asked for each scope that the provider did not grant. */
      readonly refused: Readonly<Record<string, number>>
    }

/**
 * Who a user is now: what the provider says; nothing if it tells only at a sign-in; why the user has no access any more; or that the provider
 * does not answer.
 */
export type UserAnswer =
  | { readonly is: 'known'; readonly profile: Readonly<Params> }
  | { readonly is: 'unchanged' }
  | { readonly is: 'denied'; readonly reason: string }
  | { readonly is: 'unanswered' }

/**
 * Names a provider of an endpoint, and its client there. During a rollout, the isolate of an object may run another deployment, without this
 * provider or with another issuer or client.
 */
export type ProviderName = Pick<KeptTokens, 'issuer' | 'clientId'> & { readonly name: string }

/** Names the tokens of a user at a provider. */
export type TokensName = ProviderName & {
  /** The provider and, where it states the tenant of a user, that of the grant. See `tokensEntry`. */
  readonly entry: string
  readonly impliedScopes?: Readonly<Record<string, readonly string[]>> | undefined
}

/** What is stored with each grant of a user, as metadata. */
export type ListedGrant = {
  /** When it was listed, in milliseconds since 1970. */
  readonly since: number
  /** Whether the client has yet to exchange its code. */
  readonly isCode: boolean
  readonly client: string
}

/** What the authorization server of sign-in stores. */
export interface EntryStorage {
  /** @param isUsedOnce only one reader gets the value, until it deletes it or has had it for 10 seconds */
  read(key: string, isUsedOnce?: boolean): Promise<string | null>
  /** Returns the value; without one, `null` to the first caller, who then stores it, and a text to the others. */
  reserve(key: string): Promise<string | null>
  /** @param expires milliseconds since 1970; `undefined`: never */
  write(key: string, value: string, metadata: unknown, expires: number | undefined): Promise<void>
  remove(key: string): Promise<void>
  list(prefix: string): Promise<readonly StoredKey[]>
}

/** The RPC interface of an object of sign-in. */
export interface SignInRpc extends EntryStorage {
  /**
   * Stores the tokens of the user of this object.
   *
   * @param user its id
   * @param requested the scopes that were requested
   * @param isSignIn tokens with more scopes stay
   */
  keepUpstream(
    user: string,
    of: TokensName,
    tokens: KeptTokens,
    requested: readonly string[],
    isSignIn: boolean,
  ): Promise<void>
  /** Returns an access token of the user of this object. @param rejected an access token that is returned only if another one is no help */
  upstreamToken(user: string, of: TokensName, scopes: readonly string[], rejected?: string): Promise<UpstreamAnswer>
  /** Asks a provider who the user of this object is now. */
  upstreamUser(user: string, of: TokensName): Promise<UserAnswer>
  /** Returns the names of the providers whose tokens this object stores. */
  upstreamProviders(): Promise<readonly string[]>
  /** Deletes the tokens of the user of this object, and revokes them at their providers. @param provider Default: all of them */
  clearUpstream(user: string, provider?: string): Promise<void>
  /**
   * Answers a token request of the grant that this object stores; returns `undefined` for a grant of another client, or for a token that was not
   * issued for it.
   *
   * @param key of the grant
   * @param sent the client that the request names, which may not be its client, and its code or token
   * @param providers those of the endpoint with which users sign in
   */
  answer(
    request: Request,
    site: OAuthSite,
    key: string,
    sent: { readonly clientId: string; readonly token: string },
    providers: readonly ProviderName[],
  ): Promise<Response | undefined>
}

/** What is stored of an API key: never the key itself. Times are milliseconds since 1970. */
export type StoredApiKey = {
  readonly id: string
  /** The SHA-256 of the key. */
  readonly hash: string
  readonly subject: string
  readonly tenant?: string | undefined
  readonly name?: string | undefined
  readonly scopes: readonly string[]
  readonly claims: Readonly<Params>
  readonly createdAt: number
  readonly expiresAt?: number | undefined
  readonly lastUsedAt?: number | undefined
  /** The id of the key that was created in its place. */
  readonly replacedBy?: string | undefined
}

/** The RPC interface of the object of an API key. `subject` and `tenant` are those of its owner: the key of another one is unknown. */
export interface ApiKeyRpc {
  /** Returns the key with this hash, and whether its use is to be recorded. */
  verify(hash: string): Promise<{ readonly key: StoredApiKey; readonly isUseDue: boolean } | undefined>
  recordUse(): Promise<void>
  create(key: StoredApiKey): Promise<void>
  describe(subject: string, tenant: string | undefined): Promise<StoredApiKey | undefined>
  /** Returns false for an unknown key. */
  revoke(subject: string, tenant: string | undefined): Promise<boolean>
  /** Lets the key expire. Returns when, or `undefined` for a key that is unknown or was replaced before. */
  replace(subject: string, tenant: string | undefined, by: string, until: number): Promise<number | undefined>
}

/** The RPC interface of the object that lists the API keys of an owner. */
export interface ApiKeyOwnerRpc {
  /**
   * Adds a key before it is created. Returns why it does not: the owner has as many keys that are not replaced, or as many that are.
   *
   * @param maxKeys keys that are not replaced
   */
  add(
    id: string,
    createdAt: number,
    expiresAt: number | undefined,
    maxKeys: number,
  ): Promise<'too many keys' | 'too many replaced keys' | undefined>
  setReplaced(id: string, expiresAt: number): Promise<void>
  list(): Promise<readonly { readonly id: string; readonly createdAt: number }[]>
  remove(ids: readonly string[]): Promise<void>
}
