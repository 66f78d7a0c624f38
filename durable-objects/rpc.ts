/** What Workers and Durable Objects call each other with. Nothing here is code: `worker/` imports these types only. */

import type { Admitted } from '../worker/declarations/endpoints.ts'
import type { Answer } from '../worker/engine/journal.ts'
import type { NegotiatedSession } from '../worker/engine/methods/method.ts'
import type { ServerEvent } from '../worker/protocol/changes.ts'
import type { ErrorKind } from '../worker/protocol/errors.ts'
import type { Message } from '../worker/protocol/jsonrpc.ts'
import type { Principal } from '../worker/protocol/principal.ts'
import type { ClientCapabilities, Implementation, InputRequest, Params, Result } from '../worker/protocol/types.ts'
import type { KeyRing } from '../worker/sealing/seal.ts'

/** One POST, as the Worker hands it on. The session's id has been unsealed, the principal is this request's. */
export type Post = {
  messages: Message[]
  /** What a token needs for each of them. A Worker of an older release leaves it out. */
  scopes?: readonly (readonly string[])[]
  /** They came as an array, so the answer is one. */
  batch: boolean
  /** What the session's id says; `undefined` over HTTP+SSE, where the object remembers it. */
  handshake: NegotiatedSession | undefined
  principal: Principal | undefined
  /** Whom limits count its calls for; `undefined`: the server has no limits. */
  caller: string | undefined
  /** The IP address of the client. A Worker of an older release leaves it out. */
  address?: string | undefined
  /** What `ctx.session` says. */
  session: string
  /** Of the endpoint that was asked: one class may keep the sessions of several. */
  identity: string
  /** What the endpoint says that admitted it. A Worker of an older release leaves it out. */
  admitted?: Admitted
  /** `SessionTerms` of the endpoint, as a text. A Worker of an older release leaves it out. */
  terms?: string
  /** Milliseconds: when the session's id is worth nothing. */
  expires: number
  /** The client takes streams. */
  streams: boolean
}

export type Posted =
  /** `undefined` text: nothing to say. */
  | ({ status: number; text?: string; headers?: Readonly<Record<string, string>> | undefined } & PostedRefusals)
  /** The answer is on this stream: open a relay. */
  | ({ stream: number } & PostedRefusals)
  /** There is no such session. */
  | { gone: true }
  /** It answers an input request of a call that took these scopes, or cancels the call, and its token lacks one of them. */
  | { lacks: readonly string[] }

/** The requests of the POST that a limit refused, by their place among its messages. Their errors are in the answer as well. */
export type PostedRefusals = {
  refusals?: readonly {
    readonly index: number
    readonly kind: ErrorKind
    readonly message: string
    readonly data: unknown
  }[]
}

/** A GET for a stream of a session whose client is signed in. */
export type Opening = {
  /** `SessionTerms` of the endpoint, as a text. A Worker of an older release leaves it out. */
  terms?: string
  /** Milliseconds: when the session's id is worth nothing. */
  expires: number
  /** Of the tenant. A Worker of an older release leaves it out: then the stream gets the changes for everybody. */
  issuer?: string
  tenant: string | undefined
  scopes: readonly string[]
  /** The event id to continue from; `undefined` for the standing stream from now on. */
  after: string | undefined
  /** Names the relay that is opened next. A Worker of an older release leaves it out. */
  relay?: string
}

/** `lacks`: the scopes of the stream, if the token lacks one of them. */
export type Admission = { gone: true } | { lacks: readonly string[] } | { admitted: true }

/** What the Worker may ask of a session. */
export interface SessionRpc {
  post(post: Post): Promise<Posted>
  /** Ends the session. False when it was over already. */
  end(expires: number): Promise<boolean>
  /**
   * What this session registered for, or is to hear. False when the session is over: it is not to be told again.
   *
   * @param scopes what a token needs to read of it, beyond those of the resource that it names
   * @param taskEnded a task that asks no more, by `taskId` in the params of calls that wait for answers to it, and what they are told
   * @param delivery names one delivery, of which every call after the first one does nothing
   */
  changed(event: ServerEvent, taskEnded?: TaskEnded, scopes?: readonly string[], delivery?: string): Promise<boolean>
  /** Checks who opens a stream, before its relay is opened. Claims must not be in the URL of that request: URLs are logged. */
  admit(opening: Opening): Promise<Admission>
  /** Opens a relay. */
  fetch(request: Request): Promise<Response>
}

export type TaskEnded = readonly [taskId: string, problem: string]

/** Calls of an object that stores one request state. */
export interface RequestStateRpc {
  /** @param expires milliseconds: until when to keep it */
  put(text: string, expires: number): Promise<void>
  get(): Promise<string | undefined>
  /**
   * Uses a state. The first use is the caller's to answer, with `keep`; the same use again waits for that answer.
   *
   * @param use what it is used with
   * @param isLate the time to answer has passed: a repeated use gets the first outcome, a first use is refused
   */
  consume(use: string, expires: number, isLate?: boolean): Promise<Consumed>
  /** Extends the lease of the first use, whose answer is still worked on. */
  extend(): Promise<void>
}

/**
 * - `late`: it was not used in time
 * - `lost`: it was used the same way, and the Worker that was to answer has stopped
 * - `working`: it was used the same way, and that Worker is still at work
 * - `other`: it was used in another way
 */
export type Consumed = { is: 'first' | 'late' | 'lost' | 'working' | 'other' } | { is: 'answered'; text: string }

/** Calls of a subscriptions object, by Workers, sessions and other objects of its class. */
export interface SubscriptionsRpc {
  /**
   * Publishes a change to every stream and session that wants one of the topics. Resolves when the delivery is certain.
   *
   * @param shards how many objects it goes to: known to the first, which hands the number on
   */
  publish(change: ServerEvent, topics: readonly string[], shards?: number): Promise<void>
  /** False when the session, its caller or this object has too many subscriptions to resources to take another one. */
  subscribe(session: string, topics: readonly string[], subscriber?: Subscriber): Promise<boolean>
  unsubscribe(session: string, topics: readonly string[]): Promise<void>
  /** Removes a session. True when it was subscribed to resources. */
  unsubscribeAll(session: string): Promise<boolean>
  /**
   * Enables or disables an entry of the server, and publishes the change of its list unless the entry was so before: first object
   * only. A Worker of an older release leaves the change out.
   *
   * @returns true when the caller has to publish the change
   */
  setEnabled(key: string, isEnabled: boolean, change?: ServerEvent, topics?: readonly string[]): Promise<boolean>
  /** Returns what was enabled or disabled: first object only. */
  enabledOverrides(): Promise<Readonly<Record<string, boolean>>>
  /** Tells the first object that there is another one. */
  addShard(shard: number): Promise<void>
  /**
   * Opens a relay of changes: each message has a `ServerEvent` as JSON and its `seq` as id, see `relay-messages.ts`. The topics are a JSON list
   * in a header. `?listener=` names the caller, `?most=` says how many streams the caller may have, `?after=` continues after a message.
   * 410: that message was deleted. 429: too many streams.
   */
  fetch(request: Request): Promise<Response>
}

/** Who subscribes: `principal` is its `principalKey`, '' for a client without one. */
export type Subscriber = { principal: string; address: string | undefined }

/** The subscriptions objects of a server. */
export type Shards = {
  /** The shard of a stream or a session, by a text that names it; any shard for ''. */
  of(name: string): number
  at(shard: number): SubscriptionsRpc
}

/** Calls of an object that stores a key ring. */
export interface KeysRpc {
  /** Returns the key ring, and mints it when none is stored. */
  keys(): Promise<KeyRing>
  /** @param mint `false`: `undefined` when no key ring is stored. An object of an older release mints one all the same. */
  keys(mint: boolean): Promise<KeyRing | undefined>
}

/** What an object of the class of sessions stores if it is not a session: see `store/object.ts`. */
export interface StoreRpc extends KeysRpc, RequestStateRpc {}

/** Calls of a task. A task that does not exist any more returns `undefined`. */
export interface TaskRpc extends TaskListRpc {
  /**
   * Starts a call, or continues it.
   *
   * @param answers to what was asked before the call was a task
   * @param isResumed its client has a `requestState` of the call: if nothing is stored of the call any more, it is not started again
   */
  start(
    call: TaskCall,
    terms: TaskTerms,
    references: TaskReferences,
    answers: Readonly<Record<string, Answer>>,
    isResumed: boolean,
  ): Promise<StartResult>
  get(): Promise<TaskView | undefined>
  /** Waits a while for the end of the run, then returns the task. */
  settled(): Promise<TaskView | undefined>
  /** Answers open questions, and ignores other answers. `error`: an answer is not valid, and none was taken. */
  update(answers: Readonly<Record<string, Answer>>): Promise<{ task: TaskView } | { error: TaskError } | undefined>
  /** Cancels the task, unless it is over. `before`: its status until now. */
  cancel(): Promise<{ before: TaskStatus; task: TaskView } | undefined>
  /** From now on clients that listen at this shard get the status, as it is now and whenever it changes. */
  watch(shard: number): Promise<void>
}

/** What is called, and for whom. */
export type TaskCall = {
  readonly params: Params
  readonly capabilities: ClientCapabilities
  readonly client: Implementation | undefined
  /** The caller's principal, sealed by `worker/plugins/tasks/task-principal.ts`. `undefined`: the caller was not signed in. */
  readonly principal: string | undefined
  /** Of the endpoint that was called. */
  readonly identity: string
  /** The key of that endpoint: see `worker/declarations/endpoints.ts`. A Worker of an older release leaves it out. */
  readonly endpoint?: string
  /** Names of the plugins of that endpoint. A Worker of an older release leaves it out. */
  readonly plugins?: readonly string[] | undefined
}

/** Milliseconds, except `retries`. */
export type TaskTerms = {
  /** How long the call waits for its result before it is a task. */
  readonly after: number
  readonly ttl: number
  /** Between two requests of a client that polls. */
  readonly poll: number
  /** How often the handler may throw and is run again. */
  readonly retries: number
}

/** How others refer to a task. */
export type TaskReferences = {
  /** Of its object. */
  readonly name: string
  /** The id that its client has. */
  readonly taskId: string
  /** The object of the session that gets its status. */
  readonly session: string | undefined
  /** What a token needs to read its status in that session. A Worker of an older release leaves it out. */
  readonly scopes?: readonly string[]
}

export type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'

export type TaskError = {
  readonly kind: ErrorKind
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** What a task ended with: neither, if it was cancelled. */
export type TaskEnd = { readonly result?: Result; readonly error?: TaskError }

/** What a call ended with before it was a task, or the task. */
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
  /** When it goes on, or its questions have waited too long. */
  readonly due?: number | undefined
  /** How often it has asked. */
  readonly rounds: number
  readonly inputRequests?: Readonly<Record<string, InputRequest>>
  /** The name of its tool, once it is over. */
  readonly tool?: string
}

/** What may be asked of an object that keeps a list. */
export interface TaskListRpc {
  /** @param expires milliseconds */
  list(task: ListedTask, expires: number): Promise<void>
  /** Those after a position, in the order in which they began. */
  listed(after: number, limit: number): Promise<{ tasks: ListedTask[]; next: number | undefined }>
}

export type ListedTask = { readonly name: string; readonly taskId: string }
