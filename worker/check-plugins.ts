/** Validates the plugins of an endpoint: their members, and what these return when `serve()` calls them. */
import { checkOptions, checkValue, isObject, type Kind, type KindsOf } from './declarations/check-options.ts'
import * as kind from './declarations/option-kinds.ts'
import type { Server } from './declarations/server.ts'
import type { Method } from './engine/methods/method.ts'
import type { Transport } from './http/transport.ts'
import type { AnyPlugin, DurableObjectClass, Plugin, Provided, Route, Runtime } from './plugin.ts'
import type { ServerInfo } from './request-hooks.ts'

/** Whether a value is a class. A class in the place of the function that returns it would be called without `new`. */
const isClass = (value: unknown) => typeof value === 'function' && /^class\b/.test(String(value))

const pluginKinds: KindsOf<Plugin> = {
  name: kind.required(kind.name),
  validate: kind.fn,
  extensions: [
    (value) =>
      isObject(value) && Object.entries(value).every(([name, settings]) => name.includes('/') && isObject(settings)),
    "settings by extension, such as { 'com.example/weather': {} }",
  ],
  methods: kind.fn,
  capabilities: kind.fn,
  templates: kind.fn,
  interceptor: kind.fn,
  context: kind.fn,
  onResponse: kind.fn,
  routes: kind.fn,
  provide: kind.fn,
  objects: [
    (value) => kind.functions[0](value) && !Object.values(Object(value)).some(isClass),
    'functions that return classes, such as { Counts: () => Counts }',
  ],
  onInitialize: kind.fn,
  onSubscribe: kind.fn,
  onUnsubscribe: kind.fn,
  onSessionEnd: kind.fn,
}

const routeMethods: readonly unknown[] = ['GET', 'HEAD', 'POST', 'OPTIONS'] satisfies Route['methods']

const routeKinds: KindsOf<Route> = {
  path: kind.required(kind.path),
  methods: kind.required([
    (value) => Array.isArray(value) && value.length > 0 && value.every((method) => routeMethods.includes(method)),
    `a list of ${routeMethods.join(', ')}`,
  ]),
  handle: kind.required(kind.fn),
}

const providedKinds: KindsOf<Provided> = {
  changes: kind.having('publish', 'an object with publish, setEnabled and enabledOverrides'),
  streams: kind.functions,
  transport: kind.object(),
  sessionPart: kind.object(),
  subscriptionTopics: kind.fn,
  limiter: kind.having('check', 'a limiter such as that of rateLimit()'),
}

/** What members return that are called with the runtime. A value that is ignored may be a guard. */
const madeKinds = {
  interceptor: kind.fn,
  methods: kind.functions,
  context: kind.functions,
  templates: [Array.isArray, 'a list of templates'],
  routes: [Array.isArray, 'a list of routes'],
} satisfies Partial<KindsOf<Plugin>>

const durableObjectClass: Kind = [kind.fn[0], 'a class']
const method = kind.having('answer', 'a method with offered and answer')

const ownerOf = ({ name }: AnyPlugin) => `the plugin "${name}"`

/**
 * @param names of `durableObjects`
 * @throws Error for members of the wrong type, for plugins that cannot be combined, and for unknown names of classes
 */
export function checkPlugins(plugins: readonly AnyPlugin[], names: Readonly<Record<string, string>>): void {
  for (const plugin of plugins) checkOptions(ownerOf(plugin), plugin, pluginKinds)
  const provided = plugins.flatMap(({ objects = {} }) => Object.keys(objects))
  // An endpoint without sessions() may store its keys in the session class of another one.
  const classes = [...(provided.includes('McpSession') ? [] : ['McpSession']), 'McpState', ...provided]
  const unknown = Object.keys(names).find((name) => !classes.includes(name))
  if (unknown !== undefined) {
    const list = classes.join(', ').replace(/, ([^,]*)$/, ' and $1')
    throw new Error(`durableObjects.names of serve() has no class "${unknown}": it has ${list}`)
  }
  refuseTwice(classes.map((name) => `classes named ${names[name] ?? name}`))
}

/** @throws Error for a feature that is there twice */
export function refuseTwice(features: readonly string[]): void {
  const twice = features.find((feature, index) => features.indexOf(feature) !== index)
  if (twice !== undefined) throw new Error(`serve() has two ${twice}: remove or rename one`)
}

/** Calls a member of a plugin, if it has it. @throws Error when it returns something else */
export function made<M extends keyof typeof madeKinds>(
  plugin: AnyPlugin,
  member: M,
  runtime: Runtime,
): ReturnType<NonNullable<AnyPlugin[M]>> | undefined {
  if (!plugin[member]) return undefined
  const value = plugin[member](runtime)
  checkValue(ownerOf(plugin), `${member}(runtime)`, value, madeKinds[member])
  // TypeScript does not relate the union of what all members return to this one.
  return value as ReturnType<NonNullable<AnyPlugin[M]>> | undefined
}

/** Wraps a method by that of a plugin. @throws Error when the plugin returns no method */
export function wrapped(
  plugin: AnyPlugin,
  name: string,
  wrap: (inner: Method | undefined) => Method,
  inner: Method | undefined,
): Method {
  const value = wrap(inner)
  checkValue(`methods(runtime) of ${ownerOf(plugin)}`, name, value, method)
  return value
}

/** Returns what each plugin provides. @throws Error for an invalid value, and when two plugins provide what an endpoint has once */
export function providedBy(plugins: readonly AnyPlugin[], runtime: Runtime): ReadonlyMap<AnyPlugin, Provided> {
  const provided = new Map(plugins.map((plugin) => [plugin, plugin.provide ? plugin.provide(runtime) : {}]))
  for (const [plugin, given] of provided) checkOptions(`provide(runtime) of ${ownerOf(plugin)}`, given, providedKinds)
  refuseTwice(
    [...provided.values()].flatMap(({ streams = {}, transport, limiter }) => [
      ...Object.keys(streams),
      ...(transport ? ['plugins with sessions'] : []),
      ...(limiter ? ['plugins with a limiter'] : []),
    ]),
  )
  return provided
}

/** Returns the routes of a plugin. @throws Error for an invalid route */
export function routesOf(plugin: AnyPlugin, runtime: Runtime): readonly Route[] {
  const list = made(plugin, 'routes', runtime) ?? []
  for (const route of list) checkOptions(`a route of ${ownerOf(plugin)}`, route, routeKinds)
  return list
}

/**
 * @param transport what serves sessions, if the endpoint has it
 * @throws Error for a path that two routes, or a route and the endpoint, have
 */
export function checkPaths(
  routes: readonly Route[],
  paths: ServerInfo['paths'],
  transport: Transport | undefined,
): void {
  const taken = new Set(transport?.routes(paths).map(({ path }) => path))
  // Its clients could not connect.
  if (taken.has(paths.mcp)) {
    throw new Error(`The path "${paths.mcp}" of serve() is one of HTTP+SSE: use another one, such as "/mcp"`)
  }
  taken.add(paths.mcp)
  for (const { path } of routes) {
    if (taken.has(path)) {
      throw new Error(
        `Two routes of plugins, or a route and the endpoint, have the path "${path}": remove one, or give one route several methods`,
      )
    }
    taken.add(path)
  }
}

/** Returns the Durable Object classes of a plugin, by name. @throws Error when a function returns something else */
export function classesOf(plugin: AnyPlugin, runtime: Runtime): [name: string, DurableObjectClass][] {
  return Object.entries(plugin.objects ?? {}).map(([name, make]) => {
    const value = make(runtime)
    checkValue(ownerOf(plugin), `objects.${name}(runtime)`, value, durableObjectClass)
    return [name, value]
  })
}

/** The classes of all endpoints of this isolate, by their exported names. */
export const endpointClasses = new Map<string, DurableObjectClass>()

/**
 * Each endpoint has classes of its own: the objects of a class run calls with the server, the plugins and the options of its endpoint.
 *
 * @throws Error for a name that another endpoint has for another class: a Worker exports one of them
 */
export function claimClasses(
  classes: Readonly<Record<string, DurableObjectClass>>,
  nameOf: (className: string) => string,
): void {
  const named = Object.entries(classes).map(([name, value]) => [nameOf(name), value, name] as const)
  for (const [exported, value, name] of named) {
    if ((endpointClasses.get(exported) ?? value) === value) continue
    throw new Error(
      `Another serve() has the class ${exported}: give this one its own, as in durableObjects: { names: { ${name}: 'Other${name.replace(/^Mcp/, '')}' } }. For an endpoint of each tenant, use the option tenants`,
    )
  }
  for (const [exported, value] of named) endpointClasses.set(exported, value)
}

/** Runs the checks of plugins. @throws the errors of the checks, and Error for a check that returns a promise */
export function validateWith(plugins: readonly AnyPlugin[], server: Server): void {
  for (const plugin of plugins) {
    const returned: unknown = plugin.validate?.(server)
    if (!(returned instanceof Promise)) continue
    returned.catch(() => {})
    throw new Error(`validate of the plugin "${plugin.name}" returned a promise: make it synchronous`)
  }
}
