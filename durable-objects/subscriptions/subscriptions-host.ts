import type { SessionRpc, Shards } from '../rpc.ts'

/** How many streams and subscriptions a server takes, and over how many objects they are spread. */
export type SubscriptionsOptions = {
  /** Objects that streams and sessions are spread over. Default 1; may be raised at any time, never lowered. */
  shards: number
  /** Streams of changes that one object holds. Default 10,000. */
  listeners: number
  /** Streams of changes that one principal may hold. Default 100. */
  listenersEach: number
  /** Streams of changes that clients without a principal may hold from one IPv4 address or /64 network of IPv6. Default 100. */
  listenersPerAddress: number
  /**
   * Bytes of storage beyond which an object takes no more subscriptions to resources. Beyond half of them, it takes none of a principal
   * with `listenersEach` other sessions that have subscribed, or of an address with `listenersPerAddress`. Default 1 GiB.
   */
  storageBytes: number
}

/** What a subscriptions object needs from the server it belongs to. */
export interface SubscriptionsHost {
  readonly options: SubscriptionsOptions
  readonly shards: Shards
  /** @param address see `sessionAddress` */
  session(address: string): SessionRpc
  report(problem: unknown): void
}
