/** The RPC interface of a subscriptions object. Types only, so that `worker/` can import them. */

import type { ServerEvent, SubscriberCount } from '../../worker/protocol/changes.ts'

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
