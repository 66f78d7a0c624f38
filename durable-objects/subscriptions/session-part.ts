/** The subscriptions of a session, on servers with `subscriptions()`: list changes, and the resources that its client has subscribed to. */

import type { CallerContext } from '../../worker/declarations/caller.ts'
import { capabilitiesOf } from '../../worker/engine/methods/discover.ts'
import { checkSubscription } from '../../worker/engine/topics.ts'
import { listChanges, type SubscriberScope, subscriberKey, topicsFor } from '../../worker/protocol/changes.ts'
import { tooManyRequests } from '../../worker/protocol/errors.ts'
import { ownerKey } from '../../worker/protocol/principal.ts'
import type { AddedSubscriptions, Delivery, PartSession, SubscriptionHooks } from '../session/added-parts.ts'
import type { SessionCall } from '../session/pending-post.ts'
import type { Registration } from '../session/registration.ts'
import { StandingEvents } from '../session/standing-events.ts'
import { standingStream } from '../shared/event-log.ts'
import { changedLists, listsText } from './declared-lists.ts'

export class Subscriptions implements AddedSubscriptions {
  readonly #session: PartSession
  readonly #registration: Registration
  readonly #events: StandingEvents
  /** Whether this instance has sent the lists that a deployment has changed. */
  #isAnnounced = false
  /** Resolves when the last change of subscriptions is complete. */
  #changing: Promise<void> = Promise.resolve()

  constructor(session: PartSession, registration: Registration) {
    this.#session = session
    this.#registration = registration
    this.#events = new StandingEvents(
      session,
      async (topics) => (await registration.object?.hasSubscribed(session.lifetime.name, topics)) ?? false,
    )
  }

  async listen(scope: SubscriberScope = {}): Promise<boolean> {
    const { host, values, lifetime } = this.#session
    const { shard } = this.#registration
    if (shard === undefined || values.get('registration')) return true
    const topics = [...topicsFor(listChanges, scope), subscriberKey(scope) ?? []].flat()
    const { epoch } = lifetime
    await host.subscriptionsAt(shard).subscribe(lifetime.name, topics)
    if (epoch !== lifetime.epoch) {
      // The next life of the session has the same registration.
      if (!lifetime.id) await this.#registration.deregister()
      return false
    }
    values.put('registration', { shard })
    return true
  }

  async listenAgain(scope?: SubscriberScope): Promise<void> {
    const { host, values } = this.#session
    if (values.get('registration') || !values.get('handshake')) return
    await this.listen(scope).catch(host.report)
    // The session may have missed changes.
    if (values.get('registration')) this.announceLists()
  }

  deliver(delivery: Delivery): Promise<boolean> {
    return this.#events.deliver(delivery)
  }

  announceLists(): void {
    for (const change of this.#offeredChanges) this.#events.send(change)
  }

  get #offeredChanges() {
    const capabilities = capabilitiesOf(this.#session.host.server.declarations, { updates: true })
    return listChanges.filter(({ list }) => capabilities[list]?.listChanged)
  }

  async deliverAll(uris: readonly string[]): Promise<boolean> {
    for (const event of [...this.#offeredChanges, ...uris.map((resource) => ({ resource }))]) {
      if (!(await this.deliver({ event }))) return false
    }
    return true
  }

  get lists(): string {
    return listsText(this.#session.host.server.declarations)
  }

  announceChangedLists(): void {
    const { values, streams } = this.#session
    const id = values.get('id')
    if (this.#isAnnounced || !id || !streams.isOpen(standingStream)) return
    this.#isAnnounced = true
    const { lists } = this
    if (id.lists === lists) return
    values.put('id', { ...id, lists })
    for (const list of changedLists(id.lists ?? lists, lists)) this.#events.send({ list })
  }

  dropWithout(scopes: readonly string[]): Promise<void> {
    return this.#oneByOne(() => this.#registration.dropWithout(scopes))
  }

  async subscribe(
    uri: string,
    { principal, tenant, address, expires, scopes = [] }: SessionCall,
    signal: AbortSignal,
    caller: CallerContext,
    hooks: SubscriptionHooks,
  ): Promise<void> {
    const { host, values, lifetime } = this.#session
    const registration = this.#registration
    const { server, seals } = host.at(tenant)
    const checked = checkSubscription(server.declarations, caller, uri)
    // The queue awaits it, which may be later than it fails.
    checked.catch(() => {})
    const topics = topicsFor([{ resource: uri }], principal ?? {})
    const add = async () => {
      signal.throwIfAborted()
      lifetime.scheduleExpiry(expires)
      const { epoch } = lifetime
      if (!(await this.listen(principal))) return
      if (scopes.length > 0) {
        values.put('subscribedScopes', [...new Set([...registration.scopes, ...scopes])])
      }
      const subscriber = { owner: principal && ownerKey(principal, seals(principal).identity), address }
      const isAccepted = await registration.object?.subscribe(lifetime.name, topics, subscriber)
      if (epoch !== lifetime.epoch) {
        if (!lifetime.id) await registration.deregister()
        else await registration.object?.unsubscribe(lifetime.name, topics)
        return
      }
      if (isAccepted !== false) return
      const problem = 'Too many subscriptions: unsubscribe from a resource, or wait 60 seconds, then try again'
      throw tooManyRequests(problem, 60, 'subscriptions')
    }
    await this.#oneByOne(async () => {
      await checked
      await hooks.onSubscribe()
      try {
        await add()
      } catch (problem) {
        await hooks.onUnsubscribe()
        throw problem
      }
    })
  }

  async unsubscribe(uri: string, { principal }: SessionCall): Promise<void> {
    const topics = topicsFor([{ resource: uri }], principal ?? {})
    await this.#oneByOne(async () => this.#registration.object?.unsubscribe(this.#session.lifetime.name, topics))
  }

  /** Changes subscriptions in the order of their requests, so that the registration and its scopes agree with the last request. */
  #oneByOne<T>(change: () => Promise<T>): Promise<T> {
    const changed = this.#changing.then(change)
    this.#changing = changed.then(
      () => {},
      () => {},
    )
    return changed
  }
}
