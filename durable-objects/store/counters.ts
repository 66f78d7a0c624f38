/** The counters of one caller: exact, for quotas, and for rates that the platform has no binding for. */
import type { CallLimit, FullCounter } from '../rpc.ts'
import type { Schema } from '../shared/schema.ts'
import { takeEach } from './take-each.ts'

/** Milliseconds after its last use at which the object is deleted: longer than every window. */
const lifetimeMs = 2 * 86_400_000

export class Counters {
  readonly #storage: DurableObjectStorage
  readonly #schema: Schema

  constructor(storage: DurableObjectStorage, schema: Schema) {
    this.#storage = storage
    this.#schema = schema
  }

  take(calls: readonly (readonly CallLimit[])[]): (FullCounter | undefined)[] {
    const { kv } = this.#storage
    const now = Date.now()
    const expires = kv.get<number>('countersExpire')
    return this.#storage.transactionSync(() => {
      this.#schema.store()
      // Rarely: an alarm that is early sets the next one.
      if (expires === undefined) void this.#storage.setAlarm(now + lifetimeMs)
      if ((expires ?? 0) - now < lifetimeMs * 0.75) kv.put('countersExpire', now + lifetimeMs)
      return calls.map((limits) => takeEach(kv, limits, now))
    })
  }

  /** In an alarm: sets the next one, if the counters have been used since. False when there is nothing to wait for. */
  async postpone(): Promise<boolean> {
    const expires = this.#storage.kv.get<number>('countersExpire') ?? 0
    if (expires <= Date.now()) return false
    await this.#storage.setAlarm(expires)
    return true
  }
}
