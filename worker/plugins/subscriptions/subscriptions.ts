/** `subscriptions()`: delivers change notifications through Durable Objects. */

import { SubscriptionsPart } from '../../../durable-objects/session/added-parts.ts'
import type { SessionRpc } from '../../../durable-objects/session/rpc.ts'
import { listsText } from '../../../durable-objects/subscriptions/declared-lists.ts'
import {
  Subscriptions,
  type SubscriptionsHost,
  SubscriptionsObject,
  type SubscriptionsOptions,
} from '../../../durable-objects/subscriptions/object.ts'
import type { Shards, SubscriptionsRpc } from '../../../durable-objects/subscriptions/rpc.ts'
import type { Changes, Delivered } from '../../declarations/change-hub.ts'
import { checkOptions, type KindsOf } from '../../declarations/check-options.ts'
import type { SubscriptionTopics } from '../../declarations/declarations.ts'
import { count } from '../../declarations/option-kinds.ts'
import { callerContextOf } from '../../engine/caller.ts'
import { findResource, findTemplate } from '../../engine/methods/resources.ts'
import { changeTopics } from '../../engine/topics.ts'
import { requireStream } from '../../http/accept.ts'
import { openRelay } from '../../http/relay.ts'
import type { OpenStream } from '../../http/transport.ts'
import type { Plugin, Runtime } from '../../plugin.ts'
import { recipientsPrefix, shardName, toggleKey } from '../../protocol/changes.ts'
import { hash } from '../../protocol/hash.ts'
import { readNonce } from '../../sealing/seal.ts'
import { checkUri, readEvent, readRecipients } from './check-recipients.ts'
import { listen } from './listen.ts'

/** Types the Durable Object class that a Worker exports as `McpSubscriptions`. */
export interface SubscriptionsClass {
  new (ctx: DurableObjectState, env: Cloudflare.Env): SubscriptionsObject
}

const kinds: KindsOf<SubscriptionsOptions> = {
  shards: count,
  listeners: count,
  listenersEach: count,
  listenersPerAddress: count,
  storageBytes: count,
}

/**
 * Creates a plugin that delivers change notifications to subscribed clients. The application sends them with `server.notify`, or with
 * `updated()` of a resource.
 *
 * @throws Error for an option that is not a whole number of at least 1
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
 *
 * @example
 * const worker = serve(server, { plugins: [subscriptions()] })
 * export default worker
 * export const { McpSubscriptions } = worker
 */
export function subscriptions(
  options: Partial<SubscriptionsOptions> = {},
): Plugin<{ readonly McpSubscriptions: SubscriptionsClass }> {
  checkOptions('subscriptions()', options, kinds)
  const all: SubscriptionsOptions = {
    shards: 1,
    listeners: 10_000,
    listenersEach: 100,
    listenersPerAddress: 100,
    storageBytes: 2 ** 30,
    ...options,
  }
  const of = (name: string) => hash(name) % all.shards
  return {
    name: 'subscriptions',
    provide: (runtime) => ({
      sessionPart: new SubscriptionsPart({ Subscriptions, shardOf: of }),
      streams: { 'subscriptions/listen': listenWith(runtime, { of, options: all }) },
      changes: changesOf(runtime, () => runtime.object<FirstShard>('McpSubscriptions', shardName(0))),
    }),
    objects: { McpSubscriptions: (runtime) => classOf(runtime, all) },
  }
}

/** Returns what answers `subscriptions/listen` with the event stream of a Subscriptions object. */
function listenWith(
  runtime: Runtime,
  { of, options }: { readonly of: Shards['of']; readonly options: SubscriptionsOptions },
): OpenStream {
  const { declarations, identity, seals, object, report, waitUntil } = runtime
  const at = (shard: number) => object<SubscriptionsRpc>('McpSubscriptions', shardName(shard))
  const extrasFor = async (...args: Parameters<SubscriptionTopics>) => {
    const extras = await Promise.all(runtime.provided.map(({ subscriptionTopics }) => subscriptionTopics?.(...args)))
    return extras.filter((extra) => extra !== undefined)
  }
  return async ({ message, call }, request, accept, { principal, address, credential }, { limits, state }) => {
    requireStream(accept)
    const own = seals(principal)
    const caller = callerContextOf(call, {
      signal: () => request.signal,
      seals: own,
      state: { object: state, session: undefined },
    })
    const { revision } = call
    const shards = { of, at }
    const { open } = own
    const stream = await listen({
      message,
      revision,
      caller,
      identity,
      address,
      declarations,
      open,
      shards,
      extrasFor,
      options,
      report,
    })
    const onEnd = () => {
      if (stream.onClosed) waitUntil(stream.onClosed())
    }
    const response = await openRelay({ ...limits, ...stream, credential, onEnd })
    if (response.status !== 200) {
      onEnd()
      throw stream.rejection
    }
    waitUntil(stream.onOpened())
    return response
  }
}

function classOf({ object, report, declarations }: Runtime, options: SubscriptionsOptions): SubscriptionsClass {
  const host: SubscriptionsHost = {
    options,
    shardAt: (shard) => object('McpSubscriptions', shardName(shard)),
    session: (name) => object('McpSession', name),
    lists: () => listsText(declarations),
    report,
  }
  return class McpSubscriptions extends SubscriptionsObject {
    constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
      super(ctx, env, host)
    }
  }
}

type FirstShard = SubscriptionsRpc & Pick<DurableObjectStub, 'id'>

/** Records a delivery. Returns false if the object has already received the change. */
function isFirst({ id }: Pick<DurableObjectStub, 'id'>, what: unknown, delivered: Delivered = new Set()): boolean {
  const { size } = delivered
  return delivered.add(JSON.stringify([`${id}`, what])).size > size
}

/** Delivers the changes of a server through the first object of a class, or to one session. */
function changesOf({ declarations, object }: Runtime, firstShard: () => FirstShard): Changes {
  let overrides: Promise<Readonly<Record<string, boolean>>> | undefined
  return {
    async publish(published, given = {}, delivered) {
      const recipients = readRecipients(given)
      const event = readEvent(published, recipients)
      if ('session' in recipients) {
        const name = readNonce(recipients.session) ?? recipients.session
        const session = object<SessionRpc & Pick<DurableObjectStub, 'id'>>('McpSession', name)
        if (!isFirst(session, event, delivered)) return
        // Only its Subscriptions object knows the resources that a session has subscribed to.
        const topics = 'resource' in event ? changeTopics(declarations, event) : undefined
        await session.changed(event, undefined, undefined, undefined, topics)
        return
      }
      const topics =
        'method' in event
          ? // The first topic is new, because messages with the same one are coalesced.
            [crypto.randomUUID(), recipientsPrefix(recipients)]
          : changeTopics(declarations, event, recipients)
      const shard = firstShard()
      if (isFirst(shard, 'method' in event ? event : topics, delivered)) await shard.publish(event, topics)
    },
    async subscribers(uri, given = {}, delivered) {
      checkUri('server.subscribers()', uri)
      if (!findResource(declarations, uri) && !findTemplate(declarations, uri)) {
        throw new Error(
          `server.subscribers(): no resource or template of this server has the URI ${JSON.stringify(uri)}`,
        )
      }
      const recipients = readRecipients(given)
      if ('session' in recipients) {
        throw new Error('server.subscribers() counts those of everyone, a tenant or a user: pass no session')
      }
      const topics = changeTopics(declarations, { resource: uri }, recipients)
      const shard = firstShard()
      if (isFirst(shard, topics, delivered)) return shard.countSubscribers(topics)
      return { sessions: 0, streams: 0, isComplete: true }
    },
    async setEnabled(list, name, isEnabled, delivered) {
      const change = { list }
      const topics = changeTopics(declarations, change)
      const shard = firstShard()
      const key = toggleKey(list, name)
      if (isFirst(shard, key, delivered)) await shard.setEnabled(key, isEnabled, change, topics)
    },
    enabledOverrides() {
      // All entries of a list read them in one turn.
      if (!overrides) queueMicrotask(() => (overrides = undefined))
      overrides ??= firstShard().enabledOverrides()
      return overrides
    },
  }
}
