import type { ChangeHub, Changes } from '../../declarations/change-hub.ts'
import { checkToolName } from '../../declarations/check-declarations.ts'
import { checkOptions, checkValue } from '../../declarations/check-options.ts'
import {
  type Declarations,
  type DeclarationsDraft,
  draftOf,
  type EntryKind,
  type EntryOf,
} from '../../declarations/declarations.ts'
import { addExperimental, addExtensions, addInterceptors, addMethod } from '../../declarations/extend.ts'
import type { CallInfo, Interceptor } from '../../declarations/interceptor.ts'
import * as kind from '../../declarations/option-kinds.ts'
import type { Module, Server } from '../../declarations/server.ts'
import { resolve } from '../../engine/resolve.ts'
import { type List, toggleKey } from '../../protocol/changes.ts'
import { withPrefix } from './prefixed-interceptors.ts'
import { isRelay, mountUpstreams, proxiesOf } from './proxy/mount-upstreams.ts'

/** Configures `mount()`. */
export type MountOptions = {
  /** Start of the names of the mounted tools and prompts. URIs do not change. Default: an empty text. */
  prefix?: string
}

/**
 * Adds all that another server declares so far to this one: its tools, resources, prompts, extensions, experimental capabilities and
 * interceptors. Its interceptors wrap only its own entries, and clients of this server receive its change notifications.
 *
 * @throws Error when both servers declare the same entry, and when the prefix makes an invalid name. The message names the fix
 *
 * @example
 * server.use(mount(weather, { prefix: 'weather_' }))
 */
export function mount(mounted: Server, options: MountOptions = {}): Module {
  checkValue('mount()', 'server', mounted, kind.server)
  checkOptions('mount()', options, { prefix: kind.string })
  return (server) => {
    const draft = draftOf(server)
    const part = mounted.declarations
    const prefix = server.prefix + (options.prefix ?? '')
    const interceptors = withPrefix(prefix, part.interceptors)
    const ownEntries = new Set<object>()
    const addOwn = <K extends EntryKind>(kind: K, name: string, entry: EntryOf<K>) => {
      add(draft, kind, name, entry)
      ownEntries.add(entry)
    }
    for (const [unprefixed, tool] of part.tools) {
      const name = prefix + unprefixed
      checkToolName(name)
      addOwn('tools', name, { ...tool, item: { ...tool.item, name } })
    }
    for (const [unprefixed, prompt] of part.prompts) {
      const name = prefix + unprefixed
      addOwn('prompts', name, { ...prompt, item: { ...prompt.item, name } })
    }
    for (const [uri, resource] of part.resources) addOwn('resources', uri, resource)
    for (const [uri, template] of part.templates) addOwn('templates', uri, template)
    const methods = [...part.methods].filter(([name]) => !isRelay(part, name))
    // The interceptors of a server that is mounted twice wrap its methods once.
    const ownMethods = new Set(methods.map(([name]) => name).filter((name) => !draft.methods.has(name)))
    const isOwn = ({ method, params }: CallInfo) => {
      const { entry } = resolve(draft, { method, params }).found
      return entry === undefined ? ownMethods.has(method) : ownEntries.has(entry)
    }
    addInterceptors(
      draft,
      interceptors.map((interceptor) => onlyFor(isOwn, interceptor)),
    )
    const proxies = proxiesOf(part).map((proxied) => proxied.withPrefix(prefix, interceptors))
    if (proxies.length > 0) mountUpstreams(draft, proxies)
    for (const [name, method] of methods) addMethod(draft, name, method)
    if (part.extensions) addExtensions(draft, part.extensions)
    if (part.experimental) addExperimental(draft, part.experimental)
    draftOf(mounted).changes.connect({}, changesThrough(draft.changes, part, prefix))
  }
}

/** Delivers the changes of a mounted server through the outer server, under the names that its entries have there. */
function changesThrough(outer: ChangeHub, part: Declarations, prefix: string): Changes {
  const outerName = (list: List, name: string) => (list === 'resources' ? name : prefix + name)
  return {
    get isConnected() {
      return outer.isConnected
    },
    publish: (change, recipients, delivered) => outer.publish(change, recipients, delivered),
    subscribers: (uri, recipients, delivered) => outer.subscribers(uri, recipients, delivered),
    setEnabled: (list, name, isEnabled, delivered) =>
      outer.setEnabled(list, outerName(list, name), isEnabled, delivered),
    async enabledOverrides() {
      const overrides = await outer.enabledOverrides()
      const ownNames = (list: List, names: Iterable<string>) =>
        [...names].flatMap((name) => {
          const isEnabled = overrides[toggleKey(list, outerName(list, name))]
          return isEnabled === undefined ? [] : [[toggleKey(list, name), isEnabled] as const]
        })
      return Object.fromEntries([
        ...ownNames('tools', part.tools.keys()),
        ...ownNames('prompts', part.prompts.keys()),
        ...ownNames('resources', part.resources.keys()),
        ...ownNames('resources', part.templates.keys()),
      ])
    },
  }
}

/** Runs an interceptor only for the calls of its own server. */
const onlyFor =
  (isOwn: (call: CallInfo) => boolean, interceptor: Interceptor): Interceptor =>
  (call, next) =>
    isOwn(call) ? interceptor(call, next) : next()

function add<K extends EntryKind>(draft: DeclarationsDraft, kind: K, name: string, entry: EntryOf<K>): void {
  if (draft[kind].has(name)) throw new Error(`Both servers declare "${name}": mount one with a prefix`)
  draft.addEntry(kind, name, entry)
}
