import type { UpdatesRpc } from '../../durable-objects/rpc.ts'
import { Subscriptions } from '../../durable-objects/session/subscriptions.ts'
import { Updates, type UpdatesOptions } from '../../durable-objects/updates.ts'
import { topicsAbout } from '../engine/subscribing.ts'
import { checkOptions, type KindsOf } from '../options/check.ts'
import { count } from '../options/kinds.ts'
import type { Plugin } from '../plugin.ts'
import { toggleKey } from '../protocol/changes.ts'
import { hash } from '../protocol/hash.ts'
import type { Registry } from '../server/server.ts'
import { listen } from './listen.ts'

const kinds: KindsOf<UpdatesOptions> = {
  shards: count,
  listeners: count,
  listenersEach: count,
  listenersPerAddress: count,
  storageBytes: count,
}

/**
 * Lets clients hear of changes: `serve(server, { plugins: [subscriptions()] })`. What changes is announced with
 * `server.updates`, or `updated` of a resource, from anywhere in the application.
 *
 * @throws Error when an option is not a whole number of at least 1
 */
export function subscriptions(options: Partial<UpdatesOptions> = {}): Plugin {
  checkOptions('subscriptions()', options, kinds)
  const all: UpdatesOptions = {
    shards: 1,
    listeners: 10_000,
    listenersEach: 100,
    listenersPerAddress: 100,
    storageBytes: 2 ** 30,
    ...options,
  }
  const of = (name: string) => (name ? hash(name) : Math.floor(Math.random() * 2 ** 32)) % all.shards
  return { name: 'subscriptions', subscriptions: { Updates, Subscriptions, options: all, of, listen, attach } }
}

/** Lets a server tell of changes, and be changed, through the first of the objects. */
function attach(registry: Registry, firstShard: () => UpdatesRpc): void {
  registry.publish = async (change, scope) => firstShard().publish(change, topicsAbout(registry, change, scope))
  registry.setEnabled = async (list, name, on) => {
    const change = { list }
    const toggled = firstShard().turn(toggleKey(list, name), on, change, topicsAbout(registry, change))
    // An object of an older release leaves it to its caller to publish the change.
    if (await toggled) await registry.publish(change)
  }
  let publishing: Promise<Readonly<Record<string, boolean>>> | undefined
  registry.enabledOverrides = () => {
    // What is asked in one breath, for one list, is asked once; later it may be otherwise.
    if (!publishing) queueMicrotask(() => (publishing = undefined))
    publishing ??= firstShard().turned()
    return publishing
  }
}
