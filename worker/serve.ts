/** The composition root: a server and its options become a Worker and its Durable Objects. */

import { DurableObject, env, waitUntil } from 'cloudflare:workers'
import type { Placement } from '../durable-objects/placement.ts'
import type { SessionRpc, Shards } from '../durable-objects/rpc.ts'
import { Session } from '../durable-objects/session/object.ts'
import { readSessionAddress } from '../durable-objects/session/session-address.ts'
import type { SessionHost } from '../durable-objects/session/session-host.ts'
import { termsText } from '../durable-objects/session/session-terms.ts'
import { defaultLogBounds, type ReplayLimits } from '../durable-objects/shared/event-log.ts'
import type {
  Subscriptions as SessionSubscriptions,
  SubscriptionsOptions,
} from '../durable-objects/subscriptions/object.ts'
import { changesOf, checkPaths, checkPlugins, classesOf, routesOf } from './check-plugins.ts'
import type { CallAttempt } from './declarations/call-attempt.ts'
import { draftOf } from './declarations/declarations.ts'
import { admittedBy, endpointKey, enterFor, registerEndpoint, serverFor } from './declarations/endpoints.ts'
import type { Server } from './declarations/server.ts'
import type { StateRpc } from './declarations/state.ts'
import { lackedScopes, scopesOf } from './engine/scopes.ts'
import { checkPolicy } from './http/check-origins-and-hosts.ts'
import { type Host, type Listen, sealsOf } from './http/host.ts'
import { defaultLimits, type Limits } from './http/limits.ts'
import type { Policy } from './http/origin-and-host.ts'
import { sessionLifeMs } from './http/session-object.ts'
import { declareClass, hasClass, keys, object, once, secretSealer, sessionClasses, storedKeyRing } from './platform.ts'
import {
  type AnyPlugin,
  type ClassesOf,
  type Runtime,
  type SubscriptionStream,
  validateWith,
  withPlugins,
} from './plugin.ts'
import * as developing from './plugins/development/index.ts'
import type { ListenRequest } from './plugins/subscriptions/listen.ts'
import { shardName } from './protocol/changes.ts'
import type { Auth } from './request-hooks.ts'
import { router } from './router.ts'
import { checkServe } from './serve-options.ts'
import type { ServedWorker } from './served-worker.ts'

export type ServeOptions<P extends readonly AnyPlugin[] = readonly AnyPlugin[]> = Partial<Policy> & {
  /** Where the endpoint is. Default `/mcp`; the 2024-11-05 pair `/sse` and `/messages` lies beside it. */
  path?: string
  /** Who may call; everyone when left out. */
  auth?: Auth
  /**
   * What the endpoint has besides: `[rateLimit(), subscriptions(), tasks(), observe({ to })]`. The interceptor of the first plugin is outermost,
   * and so on. Default: none.
   */
  plugins?: readonly [...P]
  /** `false`: no session ids and no streams, even when the Durable Objects are there. */
  sessions?: false | SessionOptions
  limits?: Partial<Limits>
  /**
   * Names this server in what it seals: session ids, request states, cursors, state handles and task ids. Servers of other identities do not
   * accept these, even with the same keys. Default: the server's name and `path`.
   */
  identity?: string
  /** Where the Durable Objects of all classes are, those of plugins included, and under which names the Worker exports the classes. */
  durableObjects?: DurableObjectOptions
}

export type DurableObjectOptions = Placement & {
  /** The exported name of each class, by its default name, for a Worker with more than one server: `{ McpSession: 'OtherSession' }`. */
  names?: Readonly<Record<string, string>>
}

export type SessionOptions = {
  /** Milliseconds after which an idle session is over. Default one day. */
  ttl?: number
  /** How much of a stream is kept for clients that come back. */
  log?: Partial<ReplayLimits>
}

/** What `subscriptions()` of `edgemcp/subscriptions` adds to an endpoint. */
type Subscriptions = {
  /** The subscriptions of a session. */
  readonly Subscriptions: typeof SessionSubscriptions
  readonly options: SubscriptionsOptions
  readonly of: Shards['of']
  readonly listen: (request: ListenRequest) => Promise<SubscriptionStream>
}

// Interfaces, so that declaration files of Workers that export these classes can name them.

/** The Durable Object class to export as `McpSession`. */
export interface SessionClass {
  new (ctx: DurableObjectState, env: never): Session
}

/** A Worker to export by default, and the classes that it needs exported by name. `serve()` adds those of plugins. */
export interface McpWorker extends ServedWorker {
  readonly McpSession: SessionClass
}

/** The subscriptions of sessions, once an endpoint has `subscriptions()`: one class may keep the sessions of several endpoints. */
let sessionSubscriptions: typeof SessionSubscriptions | undefined

/**
 * Serves a server to every MCP client there is.
 *
 * @example
 * const worker = serve(server)
 * export default worker
 * export const { McpSession } = worker
 */
export function serve<const P extends readonly AnyPlugin[] = readonly AnyPlugin[]>(
  server: Server,
  options: ServeOptions<P> = {},
): McpWorker & ClassesOf<P> {
  checkServe(server, options)
  const { names = {}, ...placement } = options.durableObjects ?? {}
  const plugins: AnyPlugin[] = [...(options.plugins ?? [])]
  checkPlugins(plugins, names)
  checkPolicy(options)
  const nameOf = (className: string) => names[className] ?? className
  const objectOf = <T>(className: string, name: string): T => object(nameOf(className), name, placement)
  const sessionClass = nameOf('McpSession')
  checkJurisdiction(sessionClass, placement.jurisdiction)
  const limits: Limits = { ...defaultLimits, ...options.limits }
  const report = (problem: unknown) => console.error(problem)
  const sessions = options.sessions || {}
  const session = (name: string): SessionRpc => objectOf('McpSession', name)
  const sessionAt = (address: string): SessionRpc => {
    const { className, name } = readSessionAddress(address)
    return sessionClasses.has(className) && hasClass(className) ? object(className, name, placement) : session(name)
  }
  // What subscriptions() returns, which is typed without the platform's types in `Plugin`.
  const subscriptions = plugins.find((plugin) => plugin.subscriptions)?.subscriptions as Subscriptions | undefined
  const limiter = plugins.find((plugin) => plugin.limiter)?.limiter
  const shards: Shards = {
    of: (name) => subscriptions?.of(name) ?? 0,
    at: (shard) => objectOf('McpSubscriptions', shardName(shard)),
  }
  const state = (name: string): StateRpc => objectOf('McpState', name)
  sessionClasses.add(sessionClass)
  // Endpoints of one Worker share a key ring, as they share the secret: a task of one may run in the class of another.
  const keyed = keys(() => storedKeyRing(sessionClass, placement))
  sessionSubscriptions ??= subscriptions?.Subscriptions
  const isWhole = () => options.sessions !== false && hasClass(sessionClass)
  /** `undefined` also for a Worker that has the plugin, and not its class: `reportMissingClasses` says so. */
  const subscribing = () => (hasClass(nameOf('McpSubscriptions')) ? subscriptions : undefined)
  const paths = pathsOf(options.path ?? '/mcp')
  const identity = JSON.stringify(
    options.identity === undefined ? [server.registry.options.name, paths.mcp] : [options.identity],
  )
  const endpoint = endpointKey(identity, options.auth?.tenant)
  // `wrangler dev` puts "development" in the place of this expression, `wrangler deploy` "production". Written out where it is
  // used, so that bundlers leave nothing of it to a deployment.
  let { auth } = options
  if (globalThis.process?.env?.NODE_ENV === 'development') {
    const pluginClasses = plugins.flatMap(({ objects = {} }) => Object.keys(objects).map(nameOf))
    const classNames = { session: sessionClass, plugins: pluginClasses, state: nameOf('McpState') }
    const helpers = developing.watch(
      server.registry,
      { ...options, plugins },
      { env, names: classNames, base: DurableObject },
    )
    plugins.splice(0, plugins.length, ...helpers.plugins)
    auth = helpers.auth
  }
  const runtime: Runtime = {
    get declarations() {
      return registry
    },
    identity,
    plugins: plugins.map(({ name }) => name),
    object: objectOf,
    session: <Rpc>(address: string) => sessionAt(address) as Rpc,
    seals: (principal, other = identity) => sealsOf({ identity: other, sealer: () => keyed(other) }, principal),
    waitUntil: (work) => waitUntil(work.catch(report)),
    report,
  }
  const registry = withPlugins(server.registry, plugins, () => runtime)
  const { changes: hub } = draftOf(server)
  hub.completeWith(runtime.waitUntil)
  for (const plugin of plugins) {
    const changes = changesOf(plugin, runtime)
    // Endpoints that have one class and one jurisdiction in common deliver through the same objects.
    if (changes) hub.connect(JSON.stringify([plugin.name, nameOf('McpSubscriptions'), placement.jurisdiction]), changes)
  }
  const served: Server = Object.create(server, { registry: { value: registry, enumerable: true } })
  auth?.validate?.(served)
  validateWith(plugins, served)
  limiter?.validate?.(served)
  const hooks = plugins.flatMap(({ onResponse }) => onResponse ?? [])
  const enterWith = limiter?.enter?.bind(limiter)
  const enter = enterWith && ((attempt: CallAttempt) => enterWith(attempt, { server: served, state }))
  const main = { server: served, auth, enter, plugins: runtime.plugins }
  registerEndpoint(endpoint, main)
  const admitted = admittedBy(endpoint, main, limiter?.handlerTimeMs)

  const terms = {
    streamAfterMs: limits.streamAfterMs,
    ttl: sessions.ttl ?? 24 * 60 * 60_000,
    log: { ...defaultLogBounds, ...sessions.log },
  }
  const termsOf = (session: string) => termsText({ ...terms, shard: subscribing()?.of(session) })
  const sessionHost: SessionHost = {
    server: served,
    className: sessionClass,
    life: sessionLifeMs,
    termsOf,
    seals: runtime.seals,
    state,
    get Subscriptions() {
      return sessionSubscriptions
    },
    subscriptionsAt: shards.at,
    enterOf: (admitted) => enterFor(admitted, enter),
    serverFor: (admitted) => serverFor(admitted, main, sessionClass),
    report,
  }

  const host = once((): Host => {
    reportMissingClasses(plugins, nameOf, report)
    const hasSessions = isWhole()
    return {
      server: served,
      limits,
      policy: { origins: options.origins ?? [], hosts: options.hosts ?? [] },
      auth,
      limit: limiter,
      paths,
      session,
      hasSessions,
      listen: hasSessions && subscriptions && subscribing() ? listenWith(subscriptions) : undefined,
      state,
      lackedScopes: (principal, message) => lackedScopes(registry, principal, message, sealsOf(host(), principal).open),
      scopesOf: (principal, message) => scopesOf(registry, message, sealsOf(host(), principal).open, principal),
      requestState: (name) => objectOf('McpSession', `request-state ${name}`),
      waitUntil,
      identity,
      admitted,
      termsOf,
      sealer: () => keyed(identity),
      documentSeals: once(() => {
        const sealer = secretSealer(identity)
        return sealer && { sealer, identity }
      }),
      report,
    }
  })
  const listenWith =
    ({ listen, options }: Subscriptions): Listen =>
    (message, principal, address) =>
      listen({ message, principal, address, registry, open: runtime.seals(principal).open, shards, options })
  const routes = plugins.flatMap((plugin) => routesOf(plugin, runtime))
  checkPaths(routes, paths)
  const route = once(() => router(host(), routes, hooks))

  const classes = plugins.flatMap((plugin) => classesOf(plugin, runtime))
  const worker: McpWorker = {
    ...Object.fromEntries(classes),
    paths,
    routes: routes.map(({ path }) => path),
    server,
    fetch: async (request, _, context) => route()(request, { request, context }),
    McpSession: class McpSession extends Session {
      constructor(ctx: DurableObjectState, env: never) {
        super(ctx, env, sessionHost)
      }
    },
  }
  const result = globalThis.process?.env?.NODE_ENV === 'development' ? developing.timed(worker) : worker
  // `classes` has what the types of the plugins say.
  return result as McpWorker & ClassesOf<P>
}

/** The jurisdiction of each session class, by the exported name of the class. */
const jurisdictions = new Map<string, string | undefined>()

/**
 * The object of a session, and what its calls store, is where the endpoint says that made the class.
 *
 * @throws Error for endpoints that share a class and have different jurisdictions: data of one would leave it
 */
function checkJurisdiction(className: string, jurisdiction: string | undefined): void {
  if (!jurisdictions.has(className)) jurisdictions.set(className, jurisdiction)
  const other = jurisdictions.get(className)
  if (other === jurisdiction) return
  throw new Error(
    `Two endpoints with the jurisdictions ${other ?? 'none'} and ${jurisdiction ?? 'none'} share the class ${className}: give one of them a class of its own with durableObjects.names`,
  )
}

/** Logs the classes of plugins that the Worker lacks. Which classes it exports is known when it serves a request. */
function reportMissingClasses(
  plugins: readonly AnyPlugin[],
  nameOf: (className: string) => string,
  report: Host['report'],
): void {
  // Development prints what to add to this project: see `missing-exports.ts`.
  if (globalThis.process?.env?.NODE_ENV === 'development') return
  for (const { name, objects = {} } of plugins) {
    for (const className of Object.keys(objects).map(nameOf)) {
      if (hasClass(className)) continue
      report(new Error(`${name}() needs the Durable Object ${className}: ${declareClass(className)}`))
    }
  }
}

function pathsOf(mcp: string): Host['paths'] {
  const parent = mcp.slice(0, mcp.lastIndexOf('/') + 1)
  return { mcp, sse: `${parent}sse`, messages: `${parent}messages` }
}
