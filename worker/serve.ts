/** `serve()`: combines a server, its options and its plugins into a Worker with its Durable Object classes. */

import { DurableObject, env, waitUntil } from 'cloudflare:workers'
import {
  checkPaths,
  checkPlugins,
  claimClasses,
  classesOf,
  providedBy,
  routesOf,
  validateWith,
} from './check-plugins.ts'
import { checkValue } from './declarations/check-options.ts'
import { type Declarations, draftOf } from './declarations/declarations.ts'
import * as kind from './declarations/option-kinds.ts'
import type { RequestContext } from './declarations/request-context.ts'
import type { Server } from './declarations/server.ts'
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
import type { AnyPlugin, Auth, ClassesOf, ClassesOfAuth, Provided, Route, Runtime } from './plugin.ts'
import * as developing from './plugins/development/index.ts'
import { McpError } from './protocol/errors.ts'
import type { IncomingRequest, Limiter } from './request-hooks.ts'
import { notFound, router } from './router.ts'
import type { Sealer } from './sealing/seal.ts'
import { checkServe, type ServeOptions } from './serve-options.ts'
import type { ServedWorker } from './served-worker.ts'
import type { Tenant } from './tenants.ts'

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

/** An endpoint or, if it has tenants, one of them. */
type View = {
  readonly runtime: Runtime
  /** What each plugin provides. */
  readonly provided: ReadonlyMap<AnyPlugin, Provided>
  /** The `auth`, once it is known; `undefined` in it: everyone may call. */
  found?: { readonly auth: Auth | undefined }
  /** Routes of plugins, once they are made. */
  routes?: readonly Route[]
  /** Answers requests, once one was received. */
  answer?: ReturnType<typeof router>
}

/** Tenants of an endpoint in memory. The least recently used one is deleted first, and found again when it is needed. */
const mostTenants = 1000

/** A server with the plugins and options of one `serve()`. */
class ServedEndpoint {
  readonly #server: Server
  readonly #options: ServeOptions
  readonly #objects: EndpointObjects
  readonly #limits: Limits
  readonly #sealerOf: (identity: string) => Promise<Sealer>
  readonly #plugins: readonly AnyPlugin[]
  /** Adds what development needs. */
  readonly #prepareAuth: (auth: Auth) => Auth
  readonly #instrument: Declarations['instrument']
  /** What all tenants share; the endpoint itself, if it has none. */
  readonly #shared: View
  readonly #reportMissingClasses = once(() => reportMissingClasses(this.#plugins, this.#objects))
  /** What `Tenants.find` threw for a request. */
  readonly #failures = new WeakMap<Request, { readonly thrown: unknown }>()
  /** The most recently used one is the last. */
  readonly #tenants = new Map<string, View>()

  /** @throws Error from the checks of `auth` and of the plugins. The message names the fix */
  constructor(server: Server, options: ServeOptions, objects: EndpointObjects) {
    this.#server = server
    this.#options = options
    this.#objects = objects
    this.#limits = { ...defaultLimits, ...options.limits }
    // Endpoints of one Worker share a key ring, as they share the secret.
    this.#sealerOf = keys(() => storedKeyRing(objects.sessionClass, objects.placement))
    const limiter = () => sole(this.#shared.provided.values(), 'limiter')
    const { plugins, prepareAuth, instrument } = withDevelopment(server, options, objects, limiter)
    this.#plugins = plugins
    this.#prepareAuth = prepareAuth
    this.#instrument = instrument
    this.#shared = this.#createView(undefined)
    this.#connectChanges()
    if (!options.tenants) this.#shared.found = { auth: this.#checkedAuth(options.auth) }
    validateWith(plugins, this.#shared.runtime.server)
  }

  /** Path of the endpoint, with `{tenant}` if its tenants have paths. */
  get #path(): string {
    const { path = '/mcp', tenants } = this.#options
    return tenants?.pattern.startsWith('/') ? tenants.pattern : path
  }

  #identityOf(tenant: string | undefined): string {
    const { identity, tenants } = this.#options
    const address = tenants && !tenants.pattern.startsWith('/') ? tenants.pattern + this.#path : this.#path
    const own = identity === undefined ? [this.#server.declarations.options.name, address] : [identity]
    return JSON.stringify(tenant === undefined ? own : [...own, tenant])
  }

  /** @throws Error from the check of the auth */
  #checkedAuth(auth: Auth | undefined): Auth | undefined {
    auth?.validate?.(this.#shared.runtime.server)
    return auth && this.#prepareAuth(auth)
  }

  /** Returns a tenant, as the option describes it; `undefined` if it does not exist. @throws Error for an invalid description */
  async #find(tenant: string): Promise<View | undefined> {
    if (this.#tenants.get(tenant)?.found) return this.#viewOf(tenant)
    const found = await this.#options.tenants?.find(tenant)
    if (!found) return undefined
    checkTenant(tenant, found)
    const view = this.#viewOf(tenant)
    // A request that came at the same time has found it before.
    view.found ??= { auth: this.#checkedAuth(found.auth) }
    return view
  }

  #viewOf(tenant: string | undefined): View {
    if (tenant === undefined) return this.#shared
    const view = this.#tenants.get(tenant) ?? this.#createView(tenant)
    this.#tenants.delete(tenant)
    this.#tenants.set(tenant, view)
    const [oldest = tenant] = this.#tenants.keys()
    if (this.#tenants.size > mostTenants) this.#tenants.delete(oldest)
    return view
  }

  async #authOf(tenant: string): Promise<Auth | undefined> {
    const { found } = (await this.#find(tenant)) ?? {}
    if (found) return found.auth
    throw new McpError('forbidden', `The tenant "${tenant}" does not exist`)
  }

  #createView(tenant: string | undefined): View {
    const identity = this.#identityOf(tenant)
    const { handlerErrors, onError } = this.#options
    const { maxResultBytes } = this.#limits
    const objects = this.#objects
    const declarations = withPlugins(
      this.#server.declarations,
      this.#plugins,
      () => runtime,
      (plugin) => this.#hasClasses(plugin),
      {
        handleFailure: failureHandler(onError, handlerErrors, { report, waitUntil: continueWork }),
        maxResultBytes,
        identity,
        instrument: this.#instrument,
      },
    )
    const server: Server = Object.create(this.#server, { declarations: { value: declarations, enumerable: true } })
    const usable = () => this.#usable(view)
    const runtime: Runtime = {
      server,
      declarations,
      identity,
      tenant,
      paths: pathsOf(this.#path.replace('{tenant}', (place) => tenant ?? place)),
      limits: this.#limits,
      get provided() {
        return usable()
      },
      object: (className, name) => objects.object(className, name),
      seals: (principal) => sealsOf({ identity, sealer: () => this.#sealerOf(identity) }, principal),
      at: (other) => this.#viewOf(other).runtime,
      auth: () => (tenant === undefined ? this.#shared.found?.auth : this.#authOf(tenant)),
      waitUntil: continueWork,
      report,
    }
    const view: View = { runtime, provided: providedBy(this.#plugins, runtime) }
    return view
  }

  /** Delivers the changes of the server through what the plugins provide. */
  #connectChanges(): void {
    const { changes: hub } = draftOf(this.#server)
    const { placement } = this.#objects
    hub.completeWith(this.#shared.runtime.waitUntil)
    for (const [plugin, { changes }] of this.#shared.provided) {
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

  /** Whether the Worker exports the classes of a plugin, which is known when it serves a request. */
  #hasClasses({ objects = {} }: AnyPlugin): boolean {
    return Object.keys(objects).every((name) => this.#objects.has(name))
  }

  /** Returns what the plugins provide whose classes the Worker exports. */
  #usable({ provided }: View): readonly Provided[] {
    return [...provided].filter(([plugin]) => this.#hasClasses(plugin)).map(([, provided]) => provided)
  }

  /** Makes the Worker, with the Durable Object classes of the plugins. */
  worker(): ServedWorker {
    const { tenants, auth } = this.#options
    const { runtime } = this.#shared
    const { paths } = runtime
    const transport = sole(this.#shared.provided.values(), 'transport')
    const routes = this.#routesOf(this.#shared)
    checkPaths(routes, paths, transport)
    const classes = Object.fromEntries(this.#plugins.flatMap((plugin) => classesOf(plugin, runtime)))
    claimClasses(classes, (name) => this.#objects.nameOf(name))
    const viewOf = async (request: Request) => {
      const tenant = tenants?.tenantOf(new URL(request.url))
      return tenant === undefined ? undefined : this.#find(tenant)
    }
    const serveTenant: ServedWorker['fetch'] = async (request, _, context) => {
      const view = await viewOf(request).catch((thrown: unknown) => void this.#failures.set(request, { thrown }))
      const answer = view ? this.#answer(view) : this.#answerOther()
      return answer(request, { request, context })
    }
    return {
      ...classes,
      paths: transport ? paths : { mcp: paths.mcp },
      // Those of tenants are at their addresses.
      routes: tenants ? [] : [...routes.map(({ path }) => path), ...(auth?.routes ?? [])],
      server: this.#server,
      // What fails is reported, and answered, when the request is served.
      ...(tenants && {
        isOfTenant: (request) =>
          viewOf(request).then(
            (view) => view !== undefined,
            () => true,
          ),
      }),
      fetch: tenants
        ? serveTenant
        : async (request, _, context) => this.#answer(this.#shared)(request, { request, context }),
    }
  }

  /** Returns what answers requests of a tenant. Called at a request, when the exports of the Worker are known. */
  #answer(view: View): ReturnType<typeof router> {
    if (!view.answer) {
      this.#reportMissingClasses()
      const usable = this.#usable(view)
      const streams = new Map(usable.flatMap(({ streams = {} }) => Object.entries(streams)))
      const transports: Transports = { transport: sole(usable, 'transport'), streams }
      const hooks = this.#plugins.flatMap(({ onResponse }) => onResponse ?? [])
      view.answer = router(this.#host(view, transports), transports, this.#routesOf(view), hooks)
    }
    return view.answer
  }

  /** Returns what answers requests of no tenant, and of tenants that could not be found. */
  readonly #answerOther = once(() => {
    const hooks = this.#plugins.flatMap(({ onResponse }) => onResponse ?? [])
    const nothing: Transports = { transport: undefined, streams: new Map() }
    return router(this.#host(this.#shared, nothing), nothing, [], hooks, (request, ...others) => {
      const failure = this.#failures.get(request)
      if (failure) throw failure.thrown
      return notFound(request, ...others)
    })
  })

  #routesOf(view: View): readonly Route[] {
    view.routes ??= this.#plugins.flatMap((plugin) => routesOf(plugin, view.runtime))
    return view.routes
  }

  #host(view: View, { transport, streams }: Transports): Host {
    const { runtime, found } = view
    const objects = this.#objects
    const { identity, tenant, paths, seals } = runtime
    const { origins = [], hosts = [], cors } = this.#options
    // `edgemcp doctor` sends no call: any request makes what plugins return for calls, and so fails for a wrong value.
    if (globalThis.process?.env?.NODE_ENV === 'development') void [runtime.declarations.methods]
    const auth = found?.auth
    const host: Host = {
      server: runtime.server,
      limits: this.#limits,
      policy: { origins, hosts },
      cors: new Cors(
        cors,
        auth?.credentials?.flatMap((form) => ('header' in form ? form.header : [])),
      ),
      auth,
      limit: sole(view.provided.values(), 'limiter'),
      paths,
      readContext: readContextOf(this.#options),
      hasSessions: transport !== undefined,
      handshakeOf: transport && ((id, principal) => transport.handshakeOf(id, host, principal)),
      updates: streams.has('subscriptions/listen'),
      object: runtime.object,
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
      tenant,
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

/** Returns what at most one plugin provides; `undefined` if none does. */
function sole<K extends 'transport' | 'limiter'>(provided: Iterable<Provided>, member: K): Provided[K] {
  for (const { [member]: value } of provided) if (value) return value
  return undefined
}

/** @throws Error when a tenant is not described as `Tenant` says. The message names the fix */
function checkTenant(tenant: string, { auth }: Tenant): void {
  if (!auth) return
  checkValue(`the tenant "${tenant}"`, 'auth', auth, kind.auth)
  if (auth.plugins?.length) {
    throw new Error(
      `The auth of the tenant "${tenant}" has plugins with classes to export: give the tenant an endpoint of its own`,
    )
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
): Pick<Declarations, 'instrument'> & {
  readonly plugins: readonly AnyPlugin[]
  readonly prepareAuth: (auth: Auth) => Auth
} {
  const { plugins = [] } = options
  // `wrangler dev` puts "development" in the place of this expression, `wrangler deploy` "production". Written out where it is
  // used, so that bundlers leave nothing of it to a deployment.
  if (globalThis.process?.env?.NODE_ENV === 'development') {
    const pluginClasses = plugins
      .flatMap((plugin) => Object.keys(plugin.objects ?? {}))
      .map((name) => objects.nameOf(name))
    const names = { session: objects.sessionClass, plugins: pluginClasses, state: objects.nameOf('McpState') }
    return developing.watch(declarations, options, { env, names, base: DurableObject, limiter })
  }
  return { plugins, prepareAuth: (auth) => auth }
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
  const parent = mcp.replace(/[^/]*$/, '')
  return { mcp, sse: `${parent}sse`, messages: `${parent}messages` }
}
