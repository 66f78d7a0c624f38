/** What a plugin adds to an endpoint. */

import { made } from './check-plugins.ts'
import type { Changes } from './declarations/change-hub.ts'
import type { Awaitable, Context } from './declarations/context.ts'
import type { Declarations, ExtraSubscription, Instrumented } from './declarations/declarations.ts'
import type { Interceptor } from './declarations/interceptor.ts'
import type { Open, Server } from './declarations/server.ts'
import type { Seals } from './engine/call.ts'
import { callMethod, declaredMethod } from './engine/methods/index.ts'
import type { Method } from './engine/methods/method.ts'
import type { McpError } from './protocol/errors.ts'
import type { Principal } from './protocol/principal.ts'
import type { Revision } from './protocol/revision.ts'
import type { Params } from './protocol/types.ts'
import type { AuditHook, Limiter, ServerInfo } from './request-hooks.ts'

/** What an endpoint provides to its plugins. */
export interface Runtime {
  /** What the server declares, with what the plugins of this endpoint add. Read-only for plugins. */
  readonly declarations: Declarations
  /** Names the endpoint: see `identity` of `serve()`. */
  readonly identity: string
  /** Names of the plugins of the endpoint. */
  readonly plugins: readonly string[]
  /**
   * Returns a Durable Object.
   *
   * @param className as the class is exported by default, such as `McpTask`: the option `durableObjects` of `serve()` may rename and place it
   * @throws McpError `internal_error` when the Worker has no such class
   */
  object<Rpc>(className: string, name: string): Rpc
  /** Returns the Durable Object of a session. @param address as its object registers for change notifications: it names the class and the object */
  session<Rpc>(address: string): Rpc
  /** Encrypts and authenticates values for one principal. @param identity of another endpoint with the same keys. Default: this one */
  seals(principal: Principal | undefined, identity?: string): Seals
  /** Goes on after the response. Failures are reported. */
  waitUntil(work: Promise<unknown>): void
  /** Logs a problem. The client does not get it. */
  report(problem: unknown): void
}

/** Answers HTTP requests to one path beside the endpoint. The host of each request has been checked. */
export interface Route {
  /** Such as `/metrics`. */
  readonly path: string
  readonly methods: readonly ('GET' | 'HEAD' | 'POST')[]
  handle(request: Request, endpoint: ServerInfo): Awaitable<Response>
}

/** A Durable Object class, which the platform instantiates. */
export interface DurableObjectClass {
  new (ctx: never, env: never): object
}

/** A stream of `subscriptions/listen`: the endpoint connects the client to the object that sends its events. */
export interface SubscriptionStream {
  /**
   * Opens a WebSocket to the object.
   *
   * @param after the id of the last event that the client has; `undefined`: from now on
   * @returns a response without a WebSocket when the object refuses the stream
   */
  dial(after: string | undefined): Promise<Response>
  /** Turns the payload of a message of the object into the text of a server-sent event. */
  frame(payload: string): string
  readonly firstFrame: string
  readonly lastFrame: string
  /** The answer when the object refuses the stream. */
  readonly rejection: McpError
  /** Called once the stream is open. */
  onOpened?(): Promise<void>
}

/** What a plugin provides to an endpoint. */
export interface Provided {
  /** Delivers the change notifications of the server, and keeps which of its entries are enabled. */
  readonly changes?: Changes
}

/** How change notifications reach clients: what `subscriptions()` of `edgemcp/subscriptions` brings. */
export interface SubscriptionsFeature {
  /** The subscriptions of a session. */
  readonly Subscriptions: new (
    ...args: never[]
  ) => object
  readonly options: Readonly<Record<string, number>>
  /** The shard of the objects that a session or a listener belongs to. */
  of(name: string): number
  listen(...args: never[]): Promise<SubscriptionStream>
}

/**
 * A value that adds to an endpoint: `serve(server, { plugins: [observe({ sinks }), tasks()] })`. `serve()` reads it once. A plugin never changes the
 * server, so that one server may be served several times with other plugins.
 *
 * @typeParam Classes the Durable Object classes that the Worker has to export for it, by name
 */
export interface Plugin<Classes extends Readonly<Record<string, DurableObjectClass>> = Record<never, never>> {
  /** For error messages. */
  readonly name: string
  /** Checks what the server has declared when `serve()` is called: `server.declarations.tools.size`. @throws Error that names the declaration and the fix */
  validate?(server: Server): void
  /** Extensions that the server has by it, by name, with their settings. */
  readonly extensions?: Readonly<Record<string, Params>>
  /** Methods that it answers, by name. `inner`: the method without this plugin; `undefined` for one that the server does not have. */
  methods?(runtime: Runtime): Readonly<Record<string, (inner: Method | undefined) => Method>>
  /** Capabilities that the server declares in `initialize`. */
  capabilities?(revision: Revision, principal: Principal | undefined): Awaitable<Params>
  /** Wraps every step of every call, outside the interceptors of the server. The one of the first plugin is outermost. */
  interceptor?(runtime: Runtime): Interceptor
  /** Called for every HTTP request once it has a response, which may be a stream that goes on. Errors are reported. */
  readonly onResponse?: AuditHook
  /** Paths that it answers besides the endpoint. Each path has one plugin. */
  routes?(runtime: Runtime): readonly Route[]
  /** Counts requests and calls. An endpoint has one at most. */
  readonly limiter?: Limiter
  /** Delivers change notifications. An endpoint has one at most. */
  readonly subscriptions?: SubscriptionsFeature
  /** Called once by `serve()`. */
  provide?(runtime: Runtime): Provided
  /** Reads a filter of its own from the params of `subscriptions/listen`; `undefined` when there is none. */
  subscriptionTopics?(
    params: Params,
    open: Open,
    principal: Principal | undefined,
    runtime: Runtime,
  ): Promise<ExtraSubscription | undefined>
  /** Makes its Durable Object classes, by the names under which the Worker exports them. */
  readonly objects?: { readonly [Name in keyof Classes]: (runtime: Runtime) => Classes[Name] }
  /** Replaces the context of a handler, and runs the handler. */
  instrument?(context: Context): Instrumented
}

/** Any plugin, whatever classes it has. */
export type AnyPlugin = Plugin<Readonly<Record<string, DurableObjectClass>>>

/** The Durable Object classes of plugins, by name: none of a list whose plugins are not known one by one. */
export type ClassesOf<P extends readonly AnyPlugin[]> = readonly AnyPlugin[] extends P
  ? Record<never, never>
  : Intersection<P[number]>

type Intersection<P> = (P extends Plugin<infer Classes> ? (classes: Classes) => void : never) extends (
  classes: infer All,
) => void
  ? All
  : never

/** Runs the checks of plugins. @throws what they throw, and Error for a check that is async: its error would come too late */
export function validateWith(plugins: readonly AnyPlugin[], server: Server): void {
  for (const plugin of plugins) {
    const returned: unknown = plugin.validate?.(server)
    if (!(returned instanceof Promise)) continue
    returned.catch(() => {})
    throw new Error(`validate of the plugin "${plugin.name}" returned a promise: it has to check at once`)
  }
}

/** Makes a value when it is read, and again when its key has changed. */
function cachedBy<K, V>(keyOf: () => K, make: () => V): () => V {
  let cached: { readonly key: K; readonly value: V } | undefined
  return () => {
    const key = keyOf()
    if (!cached || cached.key !== key) cached = { key, value: make() }
    return cached.value
  }
}

/**
 * Returns what a server declares, with what the plugins of one endpoint add. It is read-only, and has what is declared after `serve()` too.
 *
 * @param runtime is read when a request is served
 * @param hasClasses whether the Worker has the Durable Object classes of a plugin, which is known when it serves a request. A plugin without them is
 *   not announced, and answers no methods
 */
export function withPlugins(
  declared: Declarations,
  plugins: readonly AnyPlugin[],
  runtime: () => Runtime,
  hasClasses: (plugin: AnyPlugin) => boolean,
): Declarations {
  const complete = () => plugins.filter(hasClasses)
  const added = cachedBy(
    () => true,
    () => ({
      interceptors: plugins.flatMap((plugin) => made(plugin, 'interceptor', runtime()) ?? []),
      methods: new Map(plugins.map((plugin) => [plugin, made(plugin, 'methods', runtime()) ?? {}])),
    }),
  )
  const merged = cachedBy(
    () => `${declared.version} ${complete().length}`,
    () => ({
      interceptors: [...added().interceptors, ...declared.interceptors],
      methods: wrapMethods(
        declared,
        complete().map((plugin) => added().methods.get(plugin) ?? {}),
      ),
      extensions: mergeExtensions(declared, complete()),
      capabilities: mergeCapabilities(declared, complete()),
    }),
  )
  const { options, tools, resources, templates, prompts, forwarded } = declared
  const [topics] = plugins.flatMap(({ subscriptionTopics }) => subscriptionTopics ?? [])
  const [instrument] = plugins.flatMap((plugin) => plugin.instrument ?? [])
  return Object.freeze<Declarations>({
    options,
    tools,
    resources,
    templates,
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
    subscriptionFilters: topics && ((params, open, principal) => topics(params, open, principal, runtime())),
    instrument,
  })
}

type MethodWrappers = Readonly<Record<string, (inner: Method | undefined) => Method>>

function wrapMethods(declared: Declarations, wrappers: readonly MethodWrappers[]): ReadonlyMap<string, unknown> {
  const methods = new Map(declared.methods)
  for (const [name, wrap] of wrappers.flatMap((each) => Object.entries(each))) {
    methods.set(name, wrap(declaredMethod({ methods }, name) ?? callMethod(name)))
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
  return async (revision, principal) =>
    Object.assign({}, ...(await Promise.all(all.map((read) => read(revision, principal)))))
}
