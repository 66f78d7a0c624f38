/** `serve()`: combines a server, its options and its plugins into a Worker with its Durable Object classes. */

import { DurableObject, env, waitUntil } from 'cloudflare:workers'
import { checkPaths, checkPlugins, classesOf, providedBy, routesOf, validateWith } from './check-plugins.ts'
import { type Declarations, draftOf, type StandInTerms } from './declarations/declarations.ts'
import { admittedBy, type Endpoint, endpointKey, registerEndpoint } from './declarations/endpoints.ts'
import type { RequestContext } from './declarations/request-context.ts'
import type { Server } from './declarations/server.ts'
import type { Admitted } from './declarations/stored-principal.ts'
import { checkedContext } from './engine/request-context.ts'
import { lackedScopes, scopesOf } from './engine/required-scopes.ts'
import { failureHandler } from './handler-errors.ts'
import { targetOf } from './http/access.ts'
import { callerOfMessage } from './http/caller.ts'
import { checkPolicy } from './http/check-origins-and-hosts.ts'
import { Cors } from './http/cors.ts'
import { type Host, sealsOf } from './http/host.ts'
import { defaultLimits, type Limits } from './http/limits.ts'
import type { Transports } from './http/transport.ts'
import { withPlugins } from './merge-plugins.ts'
import { declareClass, EndpointObjects, keys, once, secretSealer, sessionClasses, storedKeyRing } from './platform.ts'
import type { AnyPlugin, Auth, ClassesOf, ClassesOfAuth, Provided, Runtime } from './plugin.ts'
import * as developing from './plugins/development/index.ts'
import { BoundedMap } from './protocol/bounded-map.ts'
import type { IncomingRequest, Limiter } from './request-hooks.ts'
import { router } from './router.ts'
import type { Sealer } from './sealing/seal.ts'
import { checkServe, type ServeOptions } from './serve-options.ts'
import type { ServedWorker } from './served-worker.ts'

/**
 * Serves a server over HTTP to clients of every protocol version.
 *
 * @param options all are optional: an endpoint without options is public, at `/mcp`
 * @returns a Worker to export by default, with the Durable Object classes of the plugins, to export by name
 * @throws Error for an invalid option, and when a plugin or `auth` rejects the declarations of the server. The message names the fix
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports
 *
 * @example
 * export default serve(server)
 */
export function serve<const P extends readonly AnyPlugin[] = readonly AnyPlugin[], A extends Auth = Auth>(
  server: Server,
  served: ServeOptions<P, A> = {},
): ServedWorker & ClassesOf<P> & ClassesOfAuth<A> {
  checkServe(server, served)
  const options = withPluginsOfAuth(served)
  const { names = {}, ...placement } = options.durableObjects ?? {}
  checkPlugins(options.plugins ?? [], names)
  checkPolicy(options)
  const hidesErrors = (options.handlerErrors ?? 'message') !== 'message'
  const objects = new EndpointObjects(names, { ...placement, hidesErrors })
  // An endpoint without sessions() may store its keys in the class of another endpoint.
  checkJurisdiction(objects.sessionClass, placement.jurisdiction, false)
  for (const name of (options.plugins ?? []).flatMap((plugin) => Object.keys(plugin.objects ?? {}))) {
    checkJurisdiction(objects.nameOf(name), placement.jurisdiction, true)
  }
  sessionClasses.add(objects.sessionClass)
  const worker = new ServedEndpoint(server, options, objects).worker()
  const result = globalThis.process?.env?.NODE_ENV === 'development' ? developing.timed(worker) : worker
  // The worker has the classes of the plugins.
  return result as ServedWorker & ClassesOf<P> & ClassesOfAuth<A>
}

/** Returns the options with the plugins that `auth` needs, as the outermost ones. */
function withPluginsOfAuth(options: ServeOptions): ServeOptions {
  const { auth, plugins = [] } = options
  return auth?.plugins?.length ? { ...options, plugins: [...auth.plugins, ...plugins] } : options
}

/** A server with the plugins and options of one `serve()`. */
class ServedEndpoint {
  readonly #server: Server
  readonly #options: ServeOptions
  readonly #objects: EndpointObjects
  readonly #paths: Host['paths']
  readonly #limits: Limits
  readonly #sealerOf: (identity: string) => Promise<Sealer>
  readonly #auth: Auth | undefined
  readonly #instrument: Declarations['instrument']
  readonly #plugins: readonly AnyPlugin[]
  readonly #runtime: Runtime
  /** What each plugin provides. */
  readonly #provided: ReadonlyMap<AnyPlugin, Provided>
  /** The transport, the listen function and the limiter: at most one plugin provides each of them. */
  readonly #sole: Pick<Provided, 'transport' | 'listen' | 'limiter'> = {}
  /** What the Durable Objects of other endpoints read of this endpoint. */
  readonly #endpoint: Endpoint
  readonly #admitted: Admitted

  /** @throws Error from the checks of `auth` and of the plugins. The message names the fix */
  constructor(server: Server, options: ServeOptions, objects: EndpointObjects) {
    this.#server = server
    this.#options = options
    this.#objects = objects
    this.#paths = pathsOf(options.path ?? '/mcp')
    this.#limits = { ...defaultLimits, ...options.limits }
    // Endpoints of one Worker share a key ring, as they share the secret: a task of one may run in the class of another.
    this.#sealerOf = keys(() => storedKeyRing(objects.sessionClass, objects.placement))
    const { auth, plugins, instrument } = withDevelopment(server, options, objects, () => this.#sole.limiter)
    this.#auth = auth
    this.#instrument = instrument
    this.#plugins = plugins
    const identity = JSON.stringify(
      options.identity === undefined ? [server.declarations.options.name, this.#paths.mcp] : [options.identity],
    )
    this.#runtime = this.#runtimeOf({ identity })
    this.#provided = providedBy(plugins, this.#runtime)
    this.#sole = Object.assign({}, ...this.#provided.values())
    const { limiter } = this.#sole
    this.#connectChanges()
    const served = this.#runtime.server
    auth?.validate?.(served)
    validateWith(plugins, served)
    this.#endpoint = {
      server: served,
      path: this.#paths.mcp,
      auth,
      countRound: limiter?.countRound?.bind(limiter),
      plugins: this.#runtime.plugins,
      hidesErrors: objects.placement.hidesErrors,
      subscriptionsClass: this.#subscriptionsClass(),
    }
    const key = endpointKey(identity, options.auth?.tenant)
    this.#admitted = admittedBy(key, this.#endpoint, limiter?.handlerTimeMs)
    registerEndpoint(this.#endpoint, this.#admitted)
  }

  /** Makes the runtime of this endpoint, or of one that this endpoint stands in for. */
  #runtimeOf({ identity, maxResultBytes = this.#limits.maxResultBytes, hidesErrors }: StandInTerms): Runtime {
    const texts = hidesErrors ? 'generic' : this.#options.handlerErrors
    /** Declarations for other endpoints, by their terms as JSON. */
    const standIns = new BoundedMap<string, Declarations>({ maxEntries: 1000 })
    const objects = this.#objects
    const declarations = withPlugins(
      this.#server.declarations,
      this.#plugins,
      () => runtime,
      (plugin) => this.#hasClasses(plugin),
      {
        handleFailure: failureHandler(this.#options.onError, texts, { report, waitUntil: continueWork }),
        standIn: (terms) => {
          const key = JSON.stringify(terms)
          const known = standIns.get(key) ?? this.#runtimeOf(terms).declarations
          standIns.set(key, known)
          return known
        },
        maxResultBytes,
        identity,
        instrument: this.#instrument,
      },
    )
    const server: Server = Object.create(this.#server, { declarations: { value: declarations, enumerable: true } })
    const usable = () => this.#usable()
    const runtime: Runtime = {
      server,
      declarations,
      identity,
      limits: this.#limits,
      get provided() {
        return usable()
      },
      nameOf: (className) => objects.nameOf(className),
      plugins: this.#plugins.map(({ name, variant }) => (variant === undefined ? name : `${name} ${variant}`)),
      object: (...object) => objects.object(...object),
      session: (address) => this.#objects.sessionAt(address),
      seals: (principal, other = identity) =>
        sealsOf({ identity: other, sealer: () => this.#sealerOf(other) }, principal),
      waitUntil: continueWork,
      report,
    }
    return runtime
  }

  /** Delivers the changes of the server through what the plugins provide. */
  #connectChanges(): void {
    const { changes: hub } = draftOf(this.#server)
    const { placement } = this.#objects
    hub.completeWith(this.#runtime.waitUntil)
    for (const [plugin, { changes }] of this.#provided) {
      if (!changes) continue
      // Endpoints that have their classes and their jurisdiction in common deliver through the same objects.
      const classNames = [...this.#classNamesOf(plugin), this.#objects.sessionClass]
      hub.connect(JSON.stringify([plugin.name, ...classNames, placement.jurisdiction]), changes)
    }
  }

  /** Returns the exported names of the classes of a plugin. */
  #classNamesOf({ objects = {} }: AnyPlugin): readonly string[] {
    return Object.keys(objects).map((name) => this.#objects.nameOf(name))
  }

  /** Returns the exported name of the class that delivers changes. */
  #subscriptionsClass(): string | undefined {
    return [...this.#provided].flatMap(([plugin, { changes }]) => (changes ? this.#classNamesOf(plugin) : []))[0]
  }

  /** Whether the Worker exports the classes of a plugin, which is known when it serves a request. */
  #hasClasses({ objects = {} }: AnyPlugin): boolean {
    return Object.keys(objects).every((name) => this.#objects.has(name))
  }

  /** Returns what the plugins provide whose classes the Worker exports. */
  #usable(): readonly Provided[] {
    return [...this.#provided].filter(([plugin]) => this.#hasClasses(plugin)).map(([, provided]) => provided)
  }

  /** Makes the Worker, with the Durable Object classes of the plugins. */
  worker(): ServedWorker {
    const runtime = this.#runtime
    const routes = this.#plugins.flatMap((plugin) => routesOf(plugin, runtime))
    const { transport } = this.#sole
    checkPaths(routes, this.#paths, transport)
    const hooks = this.#plugins.flatMap(({ onResponse }) => onResponse ?? [])
    const route = once(() => {
      reportMissingClasses(this.#plugins, this.#objects)
      const transports: Transports = Object.assign({}, ...this.#usable())
      return router(this.#host(transports), transports, routes, hooks)
    })
    return {
      ...Object.fromEntries(this.#plugins.flatMap((plugin) => classesOf(plugin, runtime))),
      paths: transport ? this.#paths : { mcp: this.#paths.mcp },
      routes: [...routes.map(({ path }) => path), ...(this.#auth?.routes ?? [])],
      server: this.#server,
      fetch: async (request, _, context) => route()(request, { request, context }),
    }
  }

  /** Called at the first request, when the exports of the Worker are known. */
  #host({ transport, listen }: Transports): Host {
    const objects = this.#objects
    const { identity, seals } = this.#runtime
    const { auth, origins = [], hosts = [], cors } = this.#options
    const host: Host = {
      server: this.#endpoint.server,
      limits: this.#limits,
      policy: { origins, hosts },
      cors: new Cors(
        cors,
        auth?.credentials?.flatMap((form) => ('header' in form ? form.header : [])),
      ),
      auth: this.#auth,
      limit: this.#sole.limiter,
      paths: this.#paths,
      readContext: readContextOf(this.#options),
      hasSessions: transport !== undefined,
      handshakeOf: transport && ((id, principal) => transport.handshakeOf(id, host, principal)),
      updates: listen !== undefined,
      object: this.#runtime.object,
      seals,
      state: (name) => objects.state(name),
      lackedScopes: async (principal, message, incoming) => {
        const target = targetOf(message, host, principal, incoming)
        const lacked = lackedScopes(target, principal, seals(principal).open, async (entry) => {
          const caller = await callerOfMessage(host, principal, message, incoming)
          // The step of the call checks the scopes again, and reports what `visibleTo` throws there.
          return target.isVisible(entry, { caller }).catch(() => false)
        })
        return (await lacked) ?? []
      },
      scopesOf: (principal, message, incoming) =>
        scopesOf(targetOf(message, host, principal, incoming), seals(principal).open, principal),
      requestState: (name) => objects.requestState(name),
      waitUntil,
      identity,
      admitted: this.#admitted,
      sealer: () => this.#sealerOf(identity),
      documentSeals: once(() => {
        const sealer = secretSealer(identity)
        return sealer && { sealer, identity }
      }),
      report,
    }
    return host
  }
}

/** Returns a function that calls the option `requestContext`, once for each HTTP request. */
function readContextOf({ requestContext }: ServeOptions): Host['readContext'] {
  if (!requestContext) return undefined
  const reading = new WeakMap<IncomingRequest, Promise<RequestContext>>()
  const read = async ({ request, principal, context }: IncomingRequest) =>
    checkedContext(await requestContext(request, { principal, env, context }))
  return (incoming) => {
    const context = reading.get(incoming) ?? read(incoming)
    reading.set(incoming, context)
    return context
  }
}

const report = (...problems: unknown[]): void => console.error(...problems.map(loggable))

/** Returns the value, or a text for one that throws when it is read: the platform drops log lines with such values. */
function loggable(value: unknown): unknown {
  try {
    if (value instanceof Error) void `${value.stack} ${value.message}`
    return value
  } catch {
    return 'A value that throws when its members are read'
  }
}

const continueWork = (work: Promise<unknown>): void => waitUntil(work.catch(report))

/** In development, adds the inspector and warnings, and accepts test users. */
function withDevelopment(
  { declarations }: Server,
  options: ServeOptions,
  objects: EndpointObjects,
  limiter: () => Limiter | undefined,
): Pick<Declarations, 'instrument'> & { readonly auth: Auth | undefined; readonly plugins: readonly AnyPlugin[] } {
  const { auth, plugins = [] } = options
  // `wrangler dev` puts "development" in the place of this expression, `wrangler deploy` "production". Written out where it is
  // used, so that bundlers leave nothing of it to a deployment.
  if (globalThis.process?.env?.NODE_ENV === 'development') {
    const pluginClasses = plugins
      .flatMap((plugin) => Object.keys(plugin.objects ?? {}))
      .map((name) => objects.nameOf(name))
    const names = { session: objects.sessionClass, plugins: pluginClasses, state: objects.nameOf('McpState') }
    return developing.watch(declarations, options, { env, names, base: DurableObject, limiter })
  }
  return { auth, plugins }
}

/** By the exported name of each class: the jurisdictions of its endpoints, and whether one of these endpoints uses it. */
const classUses = new Map<string, Map<string | undefined, boolean>>()

/**
 * Checks that the endpoints of a class have one jurisdiction. A Durable Object stores data through other objects in the jurisdiction of the
 * endpoint that created its class, and a Worker may export the class of any endpoint.
 *
 * @param isUsed whether calls of the endpoint use the class. False for the session class of an endpoint without sessions
 * @throws Error for different jurisdictions of a class that one of its endpoints uses: data of one would leave its jurisdiction
 */
function checkJurisdiction(className: string, jurisdiction: string | undefined, isUsed: boolean): void {
  const uses = classUses.get(className) ?? new Map<string | undefined, boolean>()
  for (const [other, isOtherUsed] of uses) {
    if (other === jurisdiction || !(isUsed || isOtherUsed)) continue
    throw new Error(
      `Two endpoints with the jurisdictions ${other ?? 'none'} and ${jurisdiction ?? 'none'} share the class ${className}: give one its own class with durableObjects.names`,
    )
  }
  classUses.set(className, uses.set(jurisdiction, isUsed || (uses.get(jurisdiction) ?? false)))
}

/** Logs the classes of plugins that the Worker lacks. */
function reportMissingClasses(plugins: readonly AnyPlugin[], objects: EndpointObjects): void {
  // Development prints what to add to this project: see `missing-classes.ts`.
  if (globalThis.process?.env?.NODE_ENV === 'development') return
  for (const plugin of plugins) {
    for (const name of Object.keys(plugin.objects ?? {})) {
      if (objects.has(name)) continue
      const className = objects.nameOf(name)
      report(new Error(`${plugin.name}() needs the Durable Object ${className}: ${declareClass(className)}`))
    }
  }
}

function pathsOf(mcp: string): Host['paths'] {
  const parent = mcp.slice(0, mcp.lastIndexOf('/') + 1)
  return { mcp, sse: `${parent}sse`, messages: `${parent}messages` }
}
