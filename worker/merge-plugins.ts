/** The declarations of an endpoint: those of its server, with the additions of its plugins. */
import { made, refuseTwice, wrapped } from './check-plugins.ts'
import type { ClientHooks } from './declarations/client-hooks.ts'
import type { ContextMembers } from './declarations/context.ts'
import type { Declarations } from './declarations/declarations.ts'
import type { TemplateResource } from './declarations/resource.ts'
import { callMethod, declaredMethod } from './engine/methods/index.ts'
import type { Method } from './engine/methods/method.ts'
import type { AnyPlugin, Runtime } from './plugin.ts'

/** Creates a value at its first read, and again when its key has changed. */
function cachedBy<K, V>(keyOf: () => K, make: () => V): () => V {
  let cached: { readonly key: K; readonly value: V } | undefined
  return () => {
    const key = keyOf()
    if (!cached || cached.key !== key) cached = { key, value: make() }
    return cached.value
  }
}

/** Returns a function that returns the plugins whose classes the Worker exports. A class that is exported stays exported. */
function pluginsWithClasses(
  plugins: readonly AnyPlugin[],
  hasClasses: (plugin: AnyPlugin) => boolean,
): () => readonly AnyPlugin[] {
  let missing = plugins
  return () => {
    if (missing.length > 0) missing = missing.filter((plugin) => !hasClasses(plugin))
    return missing.length > 0 ? plugins.filter((plugin) => !missing.includes(plugin)) : plugins
  }
}

/**
 * Returns the declarations of a server with the additions of the plugins of one endpoint. Read-only; includes what is registered after
 * `serve()`.
 *
 * @param runtime is called when a request is served
 * @param hasClasses returns whether the Worker exports the Durable Object classes of a plugin, which is known when it serves a request. A
 * plugin without its classes is not announced, and answers no methods
 */
export function withPlugins(
  declared: Declarations,
  plugins: readonly AnyPlugin[],
  runtime: () => Runtime,
  hasClasses: (plugin: AnyPlugin) => boolean,
  own?: Pick<Declarations, 'identity' | 'handleFailure' | 'maxResultBytes' | 'instrument'>,
): Declarations {
  const complete = pluginsWithClasses(plugins, hasClasses)
  const added = cachedBy(
    () => true,
    () => ({
      interceptors: plugins.flatMap((plugin) => made(plugin, 'interceptor', runtime()) ?? []),
      templates: plugins.flatMap((plugin) => made(plugin, 'templates', runtime()) ?? []),
      methods: new Map(plugins.map((plugin) => [plugin, made(plugin, 'methods', runtime()) ?? {}])),
      context: mergeContext(plugins.flatMap((plugin) => made(plugin, 'context', runtime()) ?? [])),
    }),
  )
  const merged = cachedBy(
    () => `${declared.version} ${complete().length}`,
    () => ({
      interceptors: [...added().interceptors, ...declared.interceptors],
      templates: mergeTemplates(declared, added().templates),
      methods: wrapMethods(declared, complete(), added().methods),
      extensions: mergeExtensions(declared, complete()),
      capabilities: mergeCapabilities(declared, complete()),
    }),
  )
  const { options, tools, resources, prompts, forwarded } = declared
  return Object.freeze<Declarations>({
    options,
    tools,
    resources,
    get templates() {
      return plugins.some((plugin) => plugin.templates) ? merged().templates : declared.templates
    },
    prompts,
    forwarded,
    get version() {
      return declared.version
    },
    get experimental() {
      return declared.experimental
    },
    get interceptors() {
      return merged().interceptors
    },
    get methods() {
      return merged().methods
    },
    get extensions() {
      return merged().extensions
    },
    get capabilities() {
      return merged().capabilities
    },
    get context() {
      return added().context
    },
    ...own,
    hooks: hooksOf(plugins, runtime),
  })
}

const hooksOf = (plugins: readonly AnyPlugin[], runtime: () => Runtime): ClientHooks => ({
  onInitialize: hookOf(plugins, ({ onInitialize }) => onInitialize, runtime),
  onSubscribe: hookOf(plugins, ({ onSubscribe }) => onSubscribe, runtime),
  onUnsubscribe: hookOf(plugins, ({ onUnsubscribe }) => onUnsubscribe, runtime),
  onSessionEnd: hookOf(plugins, ({ onSessionEnd }) => onSessionEnd, runtime),
})

/** Returns a function that calls a hook of all plugins that have it, one after the other; `undefined` if none has it. */
function hookOf<E>(
  plugins: readonly AnyPlugin[],
  hookIn: (plugin: AnyPlugin) => ((event: E, runtime: Runtime) => unknown) | undefined,
  runtime: () => Runtime,
): ((event: E) => Promise<void>) | undefined {
  if (!plugins.some(hookIn)) return undefined
  return async (event) => {
    for (const plugin of plugins) await hookIn(plugin)?.call(plugin, event, runtime())
  }
}

const mergeTemplates = ({ templates }: Declarations, added: readonly TemplateResource[]): Declarations['templates'] =>
  new Map([...added.map((template) => [template.item.uriTemplate, template] as const), ...templates])

function mergeContext(added: readonly ContextMembers[]): Declarations['context'] {
  if (added.length === 0) return undefined
  refuseTwice(added.flatMap((members) => Object.keys(members).map((name) => `plugins that add ctx.${name}`)))
  return Object.assign({}, ...added)
}

type MethodWrappers = Readonly<Record<string, (inner: Method | undefined) => Method>>

function wrapMethods(
  declared: Declarations,
  plugins: readonly AnyPlugin[],
  wrappersOf: ReadonlyMap<AnyPlugin, MethodWrappers>,
): ReadonlyMap<string, unknown> {
  const methods = new Map(declared.methods)
  for (const plugin of plugins) {
    for (const [name, wrap] of Object.entries(wrappersOf.get(plugin) ?? {})) {
      methods.set(name, wrapped(plugin, name, wrap, declaredMethod({ methods }, name) ?? callMethod(name)))
    }
  }
  return methods
}

function mergeExtensions(declared: Declarations, plugins: readonly AnyPlugin[]): Declarations['extensions'] {
  const extensions = plugins.flatMap((plugin) => plugin.extensions ?? [])
  return extensions.length > 0 ? Object.assign({}, declared.extensions, ...extensions) : declared.extensions
}

function mergeCapabilities(declared: Declarations, plugins: readonly AnyPlugin[]): Declarations['capabilities'] {
  const capabilities = plugins.flatMap((plugin) => plugin.capabilities ?? [])
  if (capabilities.length === 0) return declared.capabilities
  const all = [declared.capabilities ?? [], capabilities].flat()
  return async (...from) => Object.assign({}, ...(await Promise.all(all.map((read) => read(...from)))))
}
