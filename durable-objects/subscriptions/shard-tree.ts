/** The tree of subscriptions objects: a change goes from the first object to the next sixteen, and so on. */
import type { ServerEvent } from '../../worker/protocol/changes.ts'
import type { Schema } from '../shared/schema.ts'
import type { SubscriptionsRpc } from './rpc.ts'

/** Objects to which one object forwards a change. */
const fanOut = 16

export class ShardTree {
  readonly #index: number
  readonly #kv: SyncKvStorage
  readonly #schema: Schema
  readonly #shardAt: (shard: number) => SubscriptionsRpc

  /** @param index of this object. The first one is 0 */
  constructor(index: number, kv: SyncKvStorage, schema: Schema, shardAt: (shard: number) => SubscriptionsRpc) {
    this.#index = index
    this.#kv = kv
    this.#schema = schema
    this.#shardAt = shardAt
  }

  /** Registers this object at the first one, before a stream or a session relies on it. */
  async join(): Promise<void> {
    if (this.#index === 0 || this.#kv.get('joined')) return
    await this.#shardAt(0).addShard(this.#index)
    this.#schema.store()
    this.#kv.put('joined', true)
  }

  /** Registers another object. First object only. */
  add(shard: number): void {
    this.#schema.store()
    if (shard >= this.count) this.#kv.put('shards', shard + 1)
  }

  /** The number of objects that this one knows. */
  get count(): number {
    return this.#kv.get<number>('shards') ?? 1
  }

  /** Publishes a change at the objects below this one. @param count the number of objects */
  async publishBelow(change: ServerEvent, topics: readonly string[], count: number): Promise<void> {
    await Promise.all(this.below(count).map((shard) => shard.publish(change, topics, count)))
  }

  /** Returns the objects below this one. @param count the number of objects */
  below(count: number): SubscriptionsRpc[] {
    const first = this.#index * fanOut + 1
    const length = Math.max(0, Math.min(fanOut, count - first))
    return Array.from({ length }, (_, offset) => this.#shardAt(first + offset))
  }
}
