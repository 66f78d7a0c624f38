/** When a state expires: with its handle or session, or `ttl` after its last use. The table is in `object.ts`. */
import { type Declaration, declared } from '../../worker/declarations/state-declaration.ts'
import type { Alarms } from '../shared/alarms.ts'
import { isLaterUse, lastUse } from '../shared/last-use.ts'
import type { Schema } from '../shared/schema.ts'

/** `at`: see `last-use.ts`. `state` names the declaration, because the alarm reads its current `ttl`. */
type Use = { state: string; at: number; ttl: number }

export class StateExpiry {
  readonly #storage: DurableObjectStorage
  readonly #schema: Schema
  readonly #alarms: Alarms

  constructor(storage: DurableObjectStorage, schema: Schema, alarms: Alarms) {
    this.#storage = storage
    this.#schema = schema
    this.#alarms = alarms
  }

  /** Milliseconds since 1970; `undefined`: never, or nothing is stored. */
  get at(): number | undefined {
    const { kv } = this.#storage
    const used = kv.get<Use>('used')
    if (!used) return kv.get<number>('lapses')
    const { ttl } = declared(used.state) ?? used
    return ttl && used.at + ttl
  }

  /**
   * Stores when the state expires or when it was used: with the first value, and then rarely. A state without `ttl` stores neither.
   *
   * @param expires milliseconds since 1970: the expiry of its handle or session; `undefined` for another state
   */
  recordUse({ name, ttl }: Declaration, expires: number | undefined, now: number): void {
    const { kv } = this.#storage
    const used = kv.get<Use>('used')
    const isNoted = kv.get('lapses') !== undefined || used !== undefined
    this.#schema.store()
    if (expires !== undefined) {
      if (!isNoted) kv.put('lapses', expires)
    } else if (ttl === undefined) {
      // A release that gives it a ttl again must not take this time for that of its last use.
      if (used) kv.delete('used')
    } else if (!used || used.ttl !== ttl || isLaterUse(now, used.at, ttl)) {
      kv.put('used', { state: name, at: lastUse(now, ttl), ttl })
    }
    // An alarm that is early sets the next one. One that was set for a longer ttl would be late.
    const isShortened = used !== undefined && ttl !== undefined && ttl < used.ttl
    if (isNoted && !isShortened) return
    const lapses = this.at
    if (lapses !== undefined) void this.#alarms.set({ lapses })
  }
}
