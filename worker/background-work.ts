/** Work of plugins outside of requests, such as deliveries of events: the plugin reports it, `observe()` and `audit()` record it. */
import type { Runtime } from './plugin.ts'
import type { Principal } from './protocol/principal.ts'
import type { Params } from './protocol/types.ts'

export type BackgroundWork = {
  /** Names the work like a method, such as `events/deliver`. */
  readonly method: string
  /** Name of the entry, such as an event. */
  readonly name: string
  /** Start, in milliseconds since 1970. */
  readonly since: number
  /** Duration in milliseconds. */
  readonly milliseconds: number
  /** Why it failed. The kind `forbidden`: its principal may not cause it. Default: it has succeeded. */
  readonly error?: { readonly kind: string; readonly code: number; readonly message: string } | undefined
  /** The user for whom it was done. Default: none. */
  readonly principal?: Pick<Principal, 'issuer' | 'subject' | 'tenant'> | undefined
  /** Scopes that the work needs of its principal. */
  readonly scopes: readonly string[]
  /** What else is known. Contains no credential and no content. */
  readonly details: Readonly<Params>
}

type Observer = (work: BackgroundWork) => Promise<unknown>

const observers = new WeakMap<Runtime, readonly Observer[]>()

/** Calls a function for the work of all plugins of an endpoint. */
export function observeWork(runtime: Runtime, observer: Observer): void {
  observers.set(runtime, [...(observers.get(runtime) ?? []), observer])
}

/** Reports work that has ended. @param describe is called only if the work is observed */
export function reportWork(runtime: Runtime, describe: () => BackgroundWork): void {
  const all = observers.get(runtime)
  if (!all) return
  const work = describe()
  for (const observer of all) runtime.waitUntil(observer(work))
}
