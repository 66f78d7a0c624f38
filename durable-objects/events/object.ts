/**
 * What `events()` stores. Each user has an object with its subscriptions, and each event has one that knows all of them.
 *
 * | object                | stores                                                        |
 * |-----------------------|---------------------------------------------------------------|
 * | `owner <ownerKey>`    | see `event-owner.ts`                                          |
 * | `event <name>`        | see `event-index.ts`                                          |
 * | `receiver <host>`     | nothing: it counts in memory                                  |
 *
 * | key    | meaning                 | lifetime                      |
 * |--------|-------------------------|-------------------------------|
 * | `name` | the name of the object  | as long as anything is stored |
 */
import { DurableObject } from 'cloudflare:workers'
import { Alarms } from '../shared/alarms.ts'
import { Schema } from '../shared/schema.ts'
import { EventIndex } from './event-index.ts'
import { EventOwner } from './event-owner.ts'
import type { EventsHost } from './events-host.ts'
import { migrations } from './migrations.ts'
import type {
  DeadLetter,
  EventIndexRpc,
  EventOwnerRpc,
  EventReceiverRpc,
  LoggedEvent,
  LogPage,
  LogQuery,
  Member,
  MemberId,
  NewSubscription,
  Publication,
  StoredRecipients,
  SubscribeOutcome,
  SubscriptionSummary,
} from './rpc.ts'

/** Milliseconds until an alarm that failed is repeated. */
const retryPauseMs = 60_000
const minuteMs = 60_000

export class Events extends DurableObject implements EventOwnerRpc, EventIndexRpc, EventReceiverRpc {
  readonly #schema = new Schema(this.ctx.storage, migrations)
  readonly #alarms = new Alarms(this.ctx.storage)
  readonly #name: string
  readonly #owner: EventOwner
  readonly #index: EventIndex
  readonly #host: EventsHost
  /** Verifications of the last minute. `at`: milliseconds since 1970. */
  #admitted: readonly { readonly owner: string; readonly at: number }[] = []

  constructor(ctx: DurableObjectState, env: Cloudflare.Env, host: EventsHost) {
    super(ctx, env)
    // An alarm does not know the name of its object.
    this.#name = ctx.id.name ?? ctx.storage.kv.get<string>('name') ?? ''
    this.#host = host
    const parts = { schema: this.#schema, alarms: this.#alarms, host }
    this.#owner = new EventOwner(this.#name, ctx.storage, parts)
    this.#index = new EventIndex(this.#name.replace(/^event /, ''), ctx, parts)
  }

  subscribe(subscription: NewSubscription): Promise<SubscribeOutcome> {
    this.#begin()
    return this.#owner.subscribe(subscription)
  }

  unsubscribe(id: string): Promise<boolean> {
    this.#schema.check()
    return this.#owner.unsubscribe(id)
  }

  deliver(publication: LoggedEvent, subscriptions: readonly MemberId[]): Promise<readonly MemberId[]> {
    this.#schema.check()
    return this.#owner.deliver(publication, subscriptions)
  }

  async subscriptions(): Promise<readonly SubscriptionSummary[]> {
    this.#schema.check()
    return this.#owner.subscriptions()
  }

  async deadLetters(event?: string): Promise<readonly DeadLetter[]> {
    this.#schema.check()
    return this.#owner.deadLetters(event)
  }

  redeliver(event?: string, ids?: readonly string[]): Promise<number> {
    this.#schema.check()
    return this.#owner.redeliver(event, ids)
  }

  add(member: Member, after?: number): ReturnType<EventIndexRpc['add']> {
    this.#begin()
    return this.#index.add(member, after)
  }

  async remove(members: readonly MemberId[]): Promise<void> {
    this.#schema.check()
    this.#index.remove(members)
  }

  async owners(recipients: StoredRecipients): Promise<readonly string[]> {
    this.#schema.check()
    return this.#index.owners(recipients)
  }

  async publish(publication: Publication, recipients: StoredRecipients): Promise<void> {
    this.#schema.check()
    if (this.#index.storesEvents) this.#begin()
    await this.#index.publish(publication, recipients)
  }

  async read(query: LogQuery): Promise<LogPage> {
    this.#schema.check()
    return this.#index.read(query)
  }

  override async fetch(request: Request): Promise<Response> {
    this.#schema.check()
    return this.#index.streams.open(request)
  }

  async admit(owner: string): Promise<number | undefined> {
    const now = Date.now()
    this.#admitted = this.#admitted.filter(({ at }) => at > now - minuteMs)
    const { verificationsOfHost: max } = this.#host.limits
    // One user must not use up what others need.
    const share = Math.max(1, Math.floor(max / 10))
    if (this.#admitted.filter((one) => one.owner === owner).length >= share) return share
    if (this.#admitted.length >= max) return max
    this.#admitted = [...this.#admitted, { owner, at: now }]
    return undefined
  }

  override async alarm(): Promise<void> {
    if (await this.#schema.putOffAlarm()) return
    const next = await (this.#name.startsWith('event ') ? this.#index : this.#owner).onAlarm().catch((problem) => {
      this.#host.report(problem)
      // The platform repeats an alarm that throws a few times only.
      return Date.now() + retryPauseMs
    })
    if (next !== undefined) return this.#alarms.add(next)
    // What came meanwhile has set an alarm of its own.
    if (this.#index.isLasting || (await this.ctx.storage.getAlarm()) !== null) return
    await this.ctx.storage.deleteAll()
    this.#schema.reset()
    this.#owner.reset()
    this.#index.reset()
  }

  #begin(): void {
    this.#schema.check()
    this.#schema.store()
    if (this.ctx.storage.kv.get('name') === undefined) this.ctx.storage.kv.put('name', this.#name)
  }
}
