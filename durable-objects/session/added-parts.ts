/** The parts that plugins add to each session, and what a session gives to them. */
import type { CallerContext } from '../../worker/declarations/caller.ts'
import type { ServerEvent, SubscriberScope } from '../../worker/protocol/changes.ts'
import type { ResponseMessage } from '../../worker/protocol/jsonrpc.ts'
import type { RequestId } from '../../worker/protocol/types.ts'
import type { Alarms } from '../shared/alarms.ts'
import type { CallLedger } from '../shared/call-ledger.ts'
import type { Lifetime } from './lifetime.ts'
import type { SessionCall } from './pending-post.ts'
import type { Registration } from './registration.ts'
import type { SessionHost } from './session-host.ts'
import type { SessionValues } from './session-values.ts'
import type { SessionStreams } from './streams.ts'

/** What a session gives to each part: it sends on the streams of the session, until the session ends. */
export type PartSession = {
  readonly host: Pick<SessionHost, 'server' | 'at' | 'subscriptionsAt' | 'report'>
  readonly values: SessionValues
  readonly lifetime: Pick<Lifetime, 'id' | 'name' | 'epoch' | 'isOver' | 'scheduleExpiry'>
  readonly streams: Pick<SessionStreams, 'hasStanding' | 'isOpen' | 'send' | 'sendMessage'>
}

/** An event, as a part sends it on the standing stream. `scopes`, `topics`: see `SessionRpc.changed`. */
export type Delivery = {
  readonly event: ServerEvent
  readonly scopes?: readonly string[] | undefined
  readonly topics?: readonly string[] | undefined
}

/** A part that sends events on the standing stream. */
interface Delivers {
  /** Sends an event, if the reader of the stream may read it. Returns false if the session has ended. */
  deliver(delivery: Delivery): Promise<boolean>
}

/** The subscriptions of a session. */
export interface AddedSubscriptions extends Delivers {
  /** The declared lists: see `listsText`. */
  readonly lists: string
  /**
   * Registers this session for list changes, once. Stores that afterwards, so that a failure is repeated. Returns false if the session ended
   * meanwhile.
   */
  listen(scope?: SubscriberScope): Promise<boolean>
  /** Registers an initialized session over HTTP+SSE whose registration failed. A failure is repeated with the next request. */
  listenAgain(scope?: SubscriberScope): Promise<void>
  /** Sends the change of each list of the server on the standing stream. */
  announceLists(): void
  /** Sends the lists that have changed since the session started, or since the last call, if the standing stream is open. */
  announceChangedLists(): void
  /** See `SessionRpc.missed`. */
  deliverAll(uris: readonly string[]): Promise<boolean>
  /** See `Registration.dropWithout`. */
  dropWithout(scopes: readonly string[]): Promise<void>
  /**
   * @param signal when it is aborted, nothing changes
   * @throws McpError `resource_not_found` when this caller may not read the resource, `too_many_requests`
   */
  subscribe(
    uri: string,
    call: SessionCall,
    signal: AbortSignal,
    caller: CallerContext,
    hooks: SubscriptionHooks,
  ): Promise<void>
  unsubscribe(uri: string, call: SessionCall): Promise<void>
}

/** The hooks of a subscription. `onUnsubscribe` does not throw. */
export type SubscriptionHooks = {
  /** @throws the error that refuses the subscription */
  onSubscribe(): Promise<void>
  onUnsubscribe(): Promise<void>
}

/** The tasks of a client with which it answers input requests. */
export interface AddedTasks extends Delivers {
  /** Milliseconds since 1970: when the next request about a task is due; `Infinity` without tasks. */
  readonly due: number
  /** Records that the client may answer an input request with a task. @param id as the client knows it, such as `ask-1` */
  expect(id: RequestId): void
  /** Returns the id of the input request that a response is about: itself, or a request about the task that answers it. */
  questionOf(id: RequestId): RequestId
  /** Reads a response. Returns the response to the input request, once there is one; `undefined` for one about the client's task. */
  read(message: ResponseMessage): ResponseMessage | undefined
  /** Cancels the client's task of an input request that is no longer open. Returns false without such a task. */
  cancel(id: RequestId, stream: number): boolean
  /** Sends the requests that are due. A request without a response is repeated after twice the time. */
  poll(): void
  /** Called after the storage was deleted. */
  reset(): void
}

/** What `subscriptions()` adds to each session. */
export class SubscriptionsPart {
  readonly Subscriptions: new (
    session: PartSession,
    registration: Registration,
  ) => AddedSubscriptions
  /** Returns the number of the Subscriptions object of a session. */
  readonly shardOf: (session: string) => number

  constructor(parts: Pick<SubscriptionsPart, 'Subscriptions' | 'shardOf'>) {
    this.Subscriptions = parts.Subscriptions
    this.shardOf = parts.shardOf
  }
}

/** What `tasks()` adds to each session: it follows tasks of the client. */
export class ClientTasksPart {
  readonly ClientTasks: new (
    session: PartSession,
    sql: SqlStorage,
    ledger: CallLedger,
    alarms: Alarms,
  ) => AddedTasks

  constructor(part: ClientTasksPart['ClientTasks']) {
    this.ClientTasks = part
  }
}

/** What plugins add to each session. */
export type AddedParts = {
  readonly subscriptions?: SubscriptionsPart | undefined
  readonly clientTasks?: ClientTasksPart | undefined
}

/** @param parts what the plugins of an endpoint provide for sessions */
export const addedParts = (parts: readonly object[]): AddedParts => ({
  subscriptions: parts.find((part) => part instanceof SubscriptionsPart),
  clientTasks: parts.find((part) => part instanceof ClientTasksPart),
})
