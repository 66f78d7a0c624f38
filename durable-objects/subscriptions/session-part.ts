/** The subscriptions of a session, on servers with `subscriptions()`: list changes, and the resources that its client has subscribed to. */

import type { CallerContext } from '../../worker/declarations/caller.ts'
import { capabilitiesOf } from '../../worker/engine/methods/discover.ts'
import { checkSubscription } from '../../worker/engine/topics.ts'
import {
  listChanges,
  type ServerEvent,
  type SubscriberScope,
  subscriberKey,
  topicsFor,
} from '../../worker/protocol/changes.ts'
import { tooManyRequests } from '../../worker/protocol/errors.ts'
import { ownerKey } from '../../worker/protocol/principal.ts'
import { deliverEvent, type EventDetails, sendEvent } from '../session/deliver-event.ts'
import type { SessionCall } from '../session/pending-post.ts'
import {
  addressOf,
  deregister,
  dropSubscriptionsWithout,
  hasSubscriptions,
  subscribedScopes,
  subscriptionsOf,
} from '../session/registration.ts'
import type { SessionParts } from '../session/session-parts.ts'
import { standingStream } from '../shared/event-log.ts'
import { changedLists, listsText } from './declared-lists.ts'

/** The hooks of a subscription. `onUnsubscribe` does not throw. */
export type SubscriptionHooks = {
  /** @throws the error that refuses the subscription */
  onSubscribe(): Promise<void>
  onUnsubscribe(): Promise<void>
}

export class Subscriptions {
  readonly #session: SessionParts
  /** Whether this instance has sent the lists that a deployment has changed. */
  #isAnnounced = false
  /** Resolves when the last change of subscriptions is complete. */
  #changing: Promise<void> = Promise.resolve()

  constructor(session: SessionParts) {
    this.#session = session
  }

  /**
   * Registers this session for list changes, once. Stores that afterwards, so that a failure is repeated. Returns false if the session ended
   * meanwhile.
   */
  async listen(scope: SubscriberScope = {}): Promise<boolean> {
    const { host, values, lifetime } = this.#session
    const { shard } = lifetime.terms
    if (shard === undefined || values.get('registration')) return true
    const topics = [...topicsFor(listChanges, scope), subscriberKey(scope) ?? []].flat()
    const { epoch } = lifetime
    await host.subscriptionsAt(shard).subscribe(addressOf(this.#session), topics)
    if (epoch !== lifetime.epoch) {
      await deregister(this.#session)
      return false
    }
    values.put('registration', { shard })
    return true
  }

  /** Registers an initialized session over HTTP+SSE whose registration failed. A failure is repeated with the next request. */
  async listenAgain(scope?: SubscriberScope): Promise<void> {
    const { host, values } = this.#session
    if (values.get('registration') || !values.get('handshake')) return
    await this.listen(scope).catch(host.report)
    // The session may have missed changes.
    if (values.get('registration')) this.announceLists()
  }

  /** See `deliverEvent`. */
  deliver(event: ServerEvent, details: EventDetails): Promise<boolean> {
    return deliverEvent(this.#session, event, details)
  }

  /** Sends the change of each list of the server on the standing stream. */
  announceLists(): void {
    for (const change of this.#offeredChanges) sendEvent(this.#session, change, [], false)
  }

  get #offeredChanges() {
    const { host } = this.#session
    const capabilities = capabilitiesOf(host.server.declarations, { updates: hasSubscriptions(this.#session) })
    return listChanges.filter(({ list }) => capabilities[list]?.listChanged)
  }

  /** See `SessionRpc.missed`. */
  async deliverAll(uris: readonly string[]): Promise<boolean> {
    const details = { taskEnded: undefined, scopes: undefined, topics: undefined }
    for (const change of [...this.#offeredChanges, ...uris.map((resource) => ({ resource }))]) {
      if (!(await deliverEvent(this.#session, change, details))) return false
    }
    return true
  }

  /** The declared lists: see `listsText`. */
  get lists(): string {
    return listsText(this.#session.host.server.declarations)
  }

  /** Sends the lists that have changed since the session started, or since the last call, if the standing stream is open. */
  announceChangedLists(): void {
    const { values, streams } = this.#session
    const id = values.get('id')
    if (this.#isAnnounced || !id || !streams.isOpen(standingStream)) return
    this.#isAnnounced = true
    const { lists } = this
    if (id.lists === lists) return
    values.put('id', { ...id, lists })
    for (const list of changedLists(id.lists ?? lists, lists)) sendEvent(this.#session, { list }, [], false)
  }

  /** See `dropSubscriptionsWithout`. */
  dropWithout(scopes: readonly string[]): Promise<void> {
    return this.#oneByOne(() => dropSubscriptionsWithout(this.#session, scopes))
  }

  /**
   * @param signal when it is aborted, nothing changes
   * @throws McpError `resource_not_found` when this caller may not read the resource, `too_many_requests`
   */
  async subscribe(
    uri: string,
    { principal, identity, address, expires, scopes = [] }: SessionCall,
    signal: AbortSignal,
    caller: CallerContext,
    hooks: SubscriptionHooks,
  ): Promise<void> {
    const { host, values, lifetime } = this.#session
    const checked = checkSubscription(host.server.declarations, caller, uri)
    // The queue awaits it, which may be later than it fails.
    checked.catch(() => {})
    const topics = topicsFor([{ resource: uri }], principal ?? {})
    const add = async () => {
      signal.throwIfAborted()
      lifetime.scheduleExpiry(expires)
      const { epoch } = lifetime
      if (!(await this.listen(principal))) return
      if (scopes.length > 0) {
        values.put('subscribedScopes', [...new Set([...subscribedScopes(this.#session), ...scopes])])
      }
      const subscriber = { owner: principal && ownerKey(principal, identity), address }
      const shard = subscriptionsOf(this.#session)
      const isAccepted = await shard?.subscribe(addressOf(this.#session), topics, subscriber)
      if (epoch !== lifetime.epoch) return void (await deregister(this.#session))
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

  /** Whether this session has subscribed to one of the topics. */
  async hasSubscribed(topics: readonly string[]): Promise<boolean> {
    return (await subscriptionsOf(this.#session)?.hasSubscribed(addressOf(this.#session), topics)) ?? false
  }

  async unsubscribe(uri: string, { principal }: SessionCall): Promise<void> {
    const topics = topicsFor([{ resource: uri }], principal ?? {})
    await this.#oneByOne(async () => subscriptionsOf(this.#session)?.unsubscribe(addressOf(this.#session), topics))
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
