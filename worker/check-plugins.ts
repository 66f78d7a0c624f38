/** Checks the plugins of an endpoint: their members, and what these return when `serve()` calls them. */
import { checkOptions, checkValue, isObject, type Kind, type KindsOf } from './declarations/check-options.ts'
import { checkExtensionName } from './declarations/extend.ts'
import type { Interceptor } from './declarations/interceptor.ts'
import * as kind from './declarations/option-kinds.ts'
import type { AnyPlugin, DurableObjectClass, Provided, Route, Runtime } from './plugin.ts'
import type { ServerInfo } from './request-hooks.ts'

/** A class in the place of the function that returns it would be called without `new`. */
const isClass = (value: unknown) => typeof value === 'function' && /^class\b/.test(String(value))

const pluginKinds: KindsOf<AnyPlugin> = {
  name: kind.required(kind.name),
  validate: kind.fn,
  extensions: [
    (value) => isObject(value) && Object.values(value).every(isObject),
    "an object of settings, such as { 'com.example/weather': {} }",
  ],
  methods: kind.fn,
  capabilities: kind.fn,
  interceptor: kind.fn,
  onResponse: kind.fn,
  routes: kind.fn,
  limiter: kind.having('check', 'a limiter such as rateLimit() has'),
  subscriptions: kind.having('listen', 'what subscriptions() has'),
  provide: kind.fn,
  subscriptionTopics: kind.fn,
  objects: [
    (value) => kind.functions[0](value) && !Object.values(Object(value)).some(isClass),
    'functions that return classes, such as { Counts: () => Counts }',
  ],
  instrument: kind.fn,
}

const routeMethods: readonly unknown[] = ['GET', 'HEAD', 'POST'] satisfies Route['methods']

const routeKinds: KindsOf<Route> = {
  path: kind.required(kind.path('a path such as "/metrics", as URLs have it, without patterns')),
  methods: kind.required([
    (value) => Array.isArray(value) && value.length > 0 && value.every((method) => routeMethods.includes(method)),
    'a list of GET, HEAD and POST',
  ]),
  handle: kind.required(kind.fn),
}

const routes: Kind = [Array.isArray, 'a list of routes']
const provided: Kind = [(value) => isObject(value) && !(value instanceof Promise), 'an object such as { changes }']
const changes: Kind = [
  (value) =>
    isObject(value) &&
    ['publish', 'setEnabled', 'enabledOverrides'].every((method) => typeof value[method] === 'function'),
  'an object with publish, setEnabled and enabledOverrides',
]
const durableObjectClass: Kind = [(value) => typeof value === 'function', 'a class']

const ownerOf = ({ name }: AnyPlugin) => `the plugin "${name}"`

/**
 * @param names of `durableObjects`
 * @throws Error for members of the wrong type, for plugins that cannot be used together, and for names of classes that there are not
 */
export function checkPlugins(plugins: readonly AnyPlugin[], names: Readonly<Record<string, string>>): void {
  for (const plugin of plugins) {
    checkOptions(ownerOf(plugin), plugin, pluginKinds)
    Object.keys(plugin.extensions ?? {}).forEach(checkExtensionName)
  }
  const classes = ['McpSession', 'McpState', ...plugins.flatMap(({ objects = {} }) => Object.keys(objects))]
  const unknown = Object.keys(names).find((name) => !classes.includes(name))
  if (unknown !== undefined) {
    const list = classes.join(', ').replace(/, ([^,]*)$/, ' and $1')
    throw new Error(`serve() has no class "${unknown}" to name in durableObjects.names: it has ${list}`)
  }
  refuseTwice(
    'that have',
    plugins.flatMap(({ limiter }) => (limiter ? 'a limiter' : [])),
  )
  refuseTwice(
    'that have',
    plugins.flatMap(({ subscriptions }) => (subscriptions ? 'subscriptions' : [])),
  )
  refuseTwice(
    'with the class',
    plugins.flatMap(({ objects = {} }) => Object.keys(objects)),
  )
}

function refuseTwice(what: string, values: readonly string[]): void {
  const twice = values.find((value, index) => values.indexOf(value) !== index)
  if (twice !== undefined) throw new Error(`serve() has two plugins ${what} ${twice}: remove one`)
}

/** @throws Error when a plugin provides something else */
export function providedBy(plugin: AnyPlugin, runtime: Runtime): Provided {
  const value = plugin.provide?.(runtime) ?? {}
  checkValue(ownerOf(plugin), 'provide(runtime)', value, provided)
  if (value.changes !== undefined) {
    checkValue(ownerOf(plugin), 'provide(runtime).changes', value.changes, changes)
  }
  return value
}

/** The routes of a plugin. @throws Error for what is no route */
export function routesOf(plugin: AnyPlugin, runtime: Runtime): readonly Route[] {
  const list = plugin.routes?.(runtime) ?? []
  checkValue(ownerOf(plugin), 'routes(runtime)', list, routes)
  for (const route of list) checkOptions(`a route of ${ownerOf(plugin)}`, route, routeKinds)
  return list
}

/** @throws Error for a path that is taken */
export function checkPaths(routes: readonly Route[], paths: ServerInfo['paths']): void {
  const taken = new Set(Object.values(paths).map(withoutSlash))
  for (const { path } of routes) {
    if (taken.has(withoutSlash(path))) {
      throw new Error(
        `Two routes of plugins, or a route and the endpoint, have the path "${path}": remove one, or give one route several methods`,
      )
    }
    taken.add(withoutSlash(path))
  }
}

/** The router serves "/metrics/" as "/metrics". */
const withoutSlash = (path: string) => path.replace(/\/$/, '')

/** The Durable Object classes of a plugin, by name. @throws Error when a function returns something else */
export function classesOf(plugin: AnyPlugin, runtime: Runtime): [name: string, DurableObjectClass][] {
  return Object.entries(plugin.objects ?? {}).map(([name, make]) => {
    const value = make(runtime)
    checkValue(ownerOf(plugin), `objects.${name}(runtime)`, value, durableObjectClass)
    return [name, value]
  })
}

/** The interceptors of a plugin: one or none. @throws Error when it is no function */
export function interceptorsOf(plugin: AnyPlugin, runtime: Runtime): readonly Interceptor[] {
  const interceptor = plugin.interceptor?.(runtime)
  if (interceptor === undefined) return []
  checkValue(ownerOf(plugin), 'interceptor(runtime)', interceptor, kind.fn)
  return [interceptor]
}

/** The methods of a plugin. @throws Error for what is no object of functions */
export function methodsOf(plugin: AnyPlugin, runtime: Runtime): ReturnType<NonNullable<AnyPlugin['methods']>> {
  const methods = plugin.methods?.(runtime) ?? {}
  checkValue(ownerOf(plugin), 'methods(runtime)', methods, kind.functions)
  return methods
}
