import type { SubscriptionsRpc } from '../../../durable-objects/rpc.ts'
import { Subscriptions } from '../../../durable-objects/session/subscriptions.ts'
import { SubscriptionsObject, type SubscriptionsOptions } from '../../../durable-objects/subscriptions/object.ts'
import { checkOptions, type KindsOf } from '../../declarations/check-options.ts'
import { count } from '../../declarations/option-kinds.ts'
import type { Registry } from '../../declarations/server.ts'
import { changeTopics } from '../../engine/topics.ts'
import type { Plugin } from '../../plugin.ts'
import { toggleKey } from '../../protocol/changes.ts'
import { hash } from '../../protocol/hash.ts'
import { listen } from './listen.ts'

const kinds: KindsOf<SubscriptionsOptions> = {
  shards: count,
  listeners: count,
  listenersEach: count,
  listenersPerAddress: count,
  storageBytes: count,
}

/**
 * Sends change notifications to clients that subscribe: `serve(server, { plugins: [subscriptions()] })`. What changes is announced with
 * `server.notify`, or `updated` of a resource, from anywhere in the application.
 *
 * @throws Error when an option is not a whole number of at least 1
 */
export function subscriptions(options: Partial<SubscriptionsOptions> = {}): Plugin {
  checkOptions('subscriptions()', options, kinds)
  const all: SubscriptionsOptions = {
    shards: 1,
    listeners: 10_000,
    listenersEach: 100,
    listenersPerAddress: 100,
    storageBytes: 2 ** 30,
    ...options,
  }
  const of = (name: string) => (name ? hash(name) : Math.floor(Math.random() * 2 ** 32)) % all.shards
  return {
    name: 'subscriptions',
    subscriptions: { SubscriptionsObject, Subscriptions, options: all, of, listen, attach },
  }
}

/** The first object of each class that a server publishes to, by the name of the class: endpoints of one server may have classes of their own. */
const publishedTo = new WeakMap<Registry, Map<string, () => SubscriptionsRpc>>()

/**
 * Lets a server publish changes and enable entries, through the first object of each class.
 *
 * @param className of the objects of this endpoint
 */
function attach(registry: Registry, firstShard: () => SubscriptionsRpc, className: string): void {
  const known = publishedTo.get(registry)
  if (known) return void known.set(className, firstShard)
  const classes = new Map([[className, firstShard]])
  publishedTo.set(registry, classes)
  const toEach = async (publish: (shard: SubscriptionsRpc) => Promise<unknown>) => {
    await Promise.all([...classes.values()].map((shardOf) => publish(shardOf())))
  }
  registry.publish = (change, scope) => toEach((shard) => shard.publish(change, changeTopics(registry, change, scope)))
  registry.setEnabled = async (list, name, on) => {
    const change = { list }
    const topics = changeTopics(registry, change)
    await toEach(async (shard) => {
      // An object of an older release leaves it to its caller to publish the change.
      if (await shard.setEnabled(toggleKey(list, name), on, change, topics)) await shard.publish(change, topics)
    })
  }
  let overrides: Promise<Readonly<Record<string, boolean>>> | undefined
  registry.enabledOverrides = () => {
    // What is asked in one breath, for one list, is asked once; later it may be otherwise.
    if (!overrides) queueMicrotask(() => (overrides = undefined))
    // Each class has the same.
    overrides ??= firstShard().enabledOverrides()
    return overrides
  }
}
