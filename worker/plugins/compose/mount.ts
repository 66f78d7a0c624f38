import { checkOptions, checkValue } from '../../declarations/check-options.ts'
import { checks } from '../../declarations/checking.ts'
import type { CallInfo, Interceptor } from '../../declarations/interceptor.ts'
import * as kind from '../../declarations/option-kinds.ts'
import type { Module, Registry, Server } from '../../declarations/server.ts'
import { entryOf } from '../../engine/scopes.ts'
import { type List, toggleKey } from '../../protocol/changes.ts'
import { mountUpstreams, proxiesOf } from './proxy/front.ts'
import { withPrefix } from './with-prefix.ts'

export type MountOptions = {
  /** Goes before the names of its tools and prompts; URIs have their schemes. Default: nothing. */
  prefix?: string
}

/**
 * Another server as a part of this one: its tools, resources, prompts, extensions and experimental capabilities, as far as they are
 * declared by now, with its interceptors, which wrap only what it declares. Subscribers of this server get the changes that it announces.
 *
 * @throws Error when both declare the same, or the prefix makes no names of tools
 *
 * @example
 * server.use(mount(weather, { prefix: 'weather_' }))
 */
export function mount(mounted: Server, options: MountOptions = {}): Module {
  checkValue('mount()', 'server', mounted, kind.server)
  checkOptions('mount()', options, { prefix: kind.string })
  return (server) => {
    const { registry, prefix: outer } = server
    const part = mounted.registry
    const prefix = outer + (options.prefix ?? '')
    const interceptors = withPrefix(prefix, part.interceptors)
    const ownEntries = new Set<object>()
    for (const kind of ['tools', 'prompts'] as const) {
      for (const [name, entry] of part[kind]) {
        if (kind === 'tools') checks?.checkToolName(prefix + name)
        const renamed = { ...entry, item: { ...entry.item, name: prefix + name } }
        add(registry[kind] as Map<string, object>, prefix + name, renamed)
        ownEntries.add(renamed)
      }
    }
    for (const kind of ['resources', 'templates'] as const) {
      for (const [uri, entry] of part[kind]) {
        add(registry[kind], uri, entry)
        ownEntries.add(entry)
      }
    }
    const isOwn = ({ method, params }: CallInfo) => {
      const entry = entryOf(registry, method, params)
      return entry !== undefined && ownEntries.has(entry)
    }
    registry.interceptors.push(...interceptors.map((interceptor) => onlyFor(isOwn, interceptor)))
    const proxies = proxiesOf(part).map((proxied) => proxied.within(prefix, interceptors))
    if (proxies.length > 0) mountUpstreams(registry, proxies)
    for (const [name, method] of part.methods) if (!registry.methods.has(name)) registry.methods.set(name, method)
    registry.extensions = { ...part.extensions, ...registry.extensions }
    if (part.experimental) registry.experimental = { ...part.experimental, ...registry.experimental }
    registry.listTextCache = new Map()
    // What it announces, and switches on and off, is this server's to tell.
    const mounts = mountedIn.get(part) ?? []
    mountedIn.set(part, [...mounts, registry])
    part.publish = async (change, scope) => {
      await Promise.all((mountedIn.get(part) ?? []).map((outer) => outer.publish(change, scope)))
    }
    const named = (list: List, name: string) => (list === 'resources' ? name : prefix + name)
    part.setEnabled = (list, name, on) => registry.setEnabled(list, named(list, name), on)
    // It asks by its own names, without the prefix.
    part.enabledOverrides = async () => {
      const overrides = await registry.enabledOverrides()
      const ownNames = (list: List, names: Iterable<string>) =>
        [...names].flatMap((name) => {
          const on = overrides[toggleKey(list, named(list, name))]
          return on === undefined ? [] : [[toggleKey(list, name), on] as const]
        })
      return Object.fromEntries([
        ...ownNames('tools', part.tools.keys()),
        ...ownNames('prompts', part.prompts.keys()),
        ...ownNames('resources', part.resources.keys()),
        ...ownNames('resources', part.templates.keys()),
      ])
    }
  }
}

/** The servers that each server is mounted in. */
const mountedIn = new WeakMap<Registry, readonly Registry[]>()

/** Leaves other calls alone. */
const onlyFor =
  (isOwn: (call: CallInfo) => boolean, interceptor: Interceptor): Interceptor =>
  (call, next) =>
    isOwn(call) ? interceptor(call, next) : next()

function add<E>(entries: Map<string, E>, name: string, entry: E): void {
  if (entries.has(name)) throw new Error(`"${name}" is declared by both servers: mount one with a prefix`)
  entries.set(name, entry)
}
