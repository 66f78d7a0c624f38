/**
 * The registration of a session with a Subscriptions object. On a server without `subscriptions()`, it only ends the registrations of
 * sessions that started while the server had `subscriptions()`. The rest is in `../subscriptions/session-part.ts`.
 */
import { holdsScopes } from '../../worker/protocol/principal.ts'
import type { EventLog } from '../shared/event-log.ts'
import type { SubscriptionsRpc } from '../subscriptions/rpc.ts'
import type { Lifetime } from './lifetime.ts'
import type { SessionHost } from './session-host.ts'
import type { SessionValues } from './session-values.ts'

export class Registration {
  readonly #host: SessionHost
  readonly #values: SessionValues
  readonly #log: EventLog
  readonly #lifetime: Lifetime
  readonly #shardOf: ((session: string) => number) | undefined

  /** @param shardOf returns the number of the Subscriptions object of a session; `undefined` without `subscriptions()` */
  constructor(
    host: SessionHost,
    values: SessionValues,
    log: EventLog,
    lifetime: Lifetime,
    shardOf: ((session: string) => number) | undefined,
  ) {
    this.#host = host
    this.#values = values
    this.#log = log
    this.#lifetime = lifetime
    this.#shardOf = shardOf
  }

  /** The Subscriptions object of the session. A later increase of the number of shards does not change it. */
  get object(): SubscriptionsRpc | undefined {
    const { shard } = this
    return shard === undefined ? undefined : this.#host.subscriptionsAt(shard)
  }

  /** The number of that object. */
  get shard(): number | undefined {
    return this.#values.get('registration')?.shard ?? this.#shardOf?.(this.#lifetime.name)
  }

  /** The scopes of the resources that the session has subscribed to. */
  get scopes(): string[] {
    return this.#values.get('subscribedScopes') ?? []
  }

  /** Ends the subscriptions of the session to resources, and erases their events, if a token that opens a stream lacks a scope of one of them. */
  async dropWithout(scopes: readonly string[]): Promise<void> {
    if (holdsScopes(scopes, this.scopes)) return
    // A failure fails the request, and the next one repeats this: what is still registered must not be forgotten.
    await this.object?.unsubscribeAll(this.#lifetime.name, true)
    this.#log.eraseScoped('resource')
    this.#values.delete('subscribedScopes')
  }

  /** Ends the subscriptions of the session. Returns true if it was, or may have been, subscribed to resources. */
  async deregister(): Promise<boolean> {
    try {
      return (await this.object?.unsubscribeAll(this.#lifetime.name)) ?? false
    } catch (problem) {
      this.#host.report(problem)
      return true
    }
  }
}
