/** The options of `subscriptions()`, and what its Durable Object needs of the server. */
import type { SessionRpc } from '../session/rpc.ts'
import type { SubscriptionsRpc } from './rpc.ts'

/** Configures `subscriptions()`. Each number is a whole number of at least 1. */
export type SubscriptionsOptions = {
  /** Durable Objects over which streams and sessions are distributed. Raise it at any time; never lower it. Default: 1. */
  shards: number
  /** Streams of `subscriptions/listen` of one Durable Object. Default: 10,000. */
  listeners: number
  /** Streams of `subscriptions/listen` of one user. Default: 100. */
  listenersEach: number
  /** Streams of `subscriptions/listen` of anonymous clients from one IPv4 address or one /64 network of IPv6. Default: 100. */
  listenersPerAddress: number
  /**
   * Bytes of storage beyond which a Durable Object rejects subscriptions to resources. Beyond half of it, it rejects those of a user
   * with `listenersEach` other subscribed sessions, and of an address with `listenersPerAddress`. Default: 1 GiB.
   */
  storageBytes: number
}

/** What a subscriptions object needs of its server. */
export interface SubscriptionsHost {
  readonly options: SubscriptionsOptions
  shardAt(shard: number): SubscriptionsRpc
  session(name: string): SessionRpc
  /** Returns the declared lists of the server: see `listsText`. Absent: deployments are not noticed. */
  lists?(): string
  report(problem: unknown): void
}
