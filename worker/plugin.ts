/** Plugins: what a plugin adds to an endpoint, and what the endpoint provides to its plugins. */

import type { Changes } from './declarations/change-hub.ts'
import type { ClientEvent, SessionEndEvent, SubscriptionEvent } from './declarations/client-hooks.ts'
import type { Awaitable, ContextMembers } from './declarations/context.ts'
import type { Declarations, SubscriptionTopics } from './declarations/declarations.ts'
import type { Interceptor } from './declarations/interceptor.ts'
import type { TemplateResource } from './declarations/resource.ts'
import type { Server } from './declarations/server.ts'
import type { Seals } from './engine/call.ts'
import type { Method } from './engine/methods/method.ts'
import type { Limits } from './http/limits.ts'
import type { OpenStream, Transport } from './http/transport.ts'
import type { Principal } from './protocol/principal.ts'
import type { Revision } from './protocol/revision.ts'
import type { Params } from './protocol/types.ts'
import type { AuditHook, Limiter, RequestAuth, ServerInfo } from './request-hooks.ts'

/** Provides the services of an endpoint to its plugins. */
export interface Runtime {
  /** The server. Its declarations include those of the plugins of the endpoint. */
  readonly server: Server
  /** The declarations of the server, with those of the plugins of the endpoint. Read-only. */
  readonly declarations: Declarations
  /** Identifies the endpoint, and its tenant: see `identity` of `serve()`. */
  readonly identity: string
  /** The tenant; `undefined` for what all tenants of the endpoint share, and for an endpoint without tenants. */
  readonly tenant: string | undefined
  /** Paths of the endpoint: see `ServerInfo`. Those of an endpoint whose tenants have paths contain `{tenant}`. */
  readonly paths: ServerInfo['paths']
  /** The limits of the endpoint, with their defaults. */
  readonly limits: Limits
  /** What the plugins of the endpoint provide whose classes the Worker exports. Known at the first request. */
  readonly provided: readonly Provided[]
  /**
   * Returns a Durable Object.
   *
   * @param className the default name of its class, such as `McpTask`; the option `durableObjects` of `serve()` renames and places it
   * @param name the name of the object
   * @throws McpError `internal_error` when the Worker does not export the class
   */
  object<Rpc>(className: string, name: string): Rpc
  /** Returns functions that encrypt and authenticate values for one principal. */
  seals(principal: Principal | undefined): Seals
  /** Returns the same services for a tenant of the endpoint. */
  at(tenant: string | undefined): Runtime
  /**
   * Returns the `auth` of the endpoint, or of its tenant; `undefined` without one.
   *
   * @throws McpError `forbidden` for a tenant that does not exist any more
   */
  auth(): Awaitable<RequestAuth | undefined>
  /** Continues work after the response. Failures are reported. */
  waitUntil(work: Promise<unknown>): void
  /** Logs a problem. The client does not receive it. */
  report(problem: unknown): void
}

/** Answers HTTP requests to one path besides the endpoint. The host of each request has been validated, and its origin: see `methods`. */
export interface Route {
  /** The path, such as `/metrics`. */
  readonly path: string
  /**
   * Methods that it answers. Others get 405. With `OPTIONS`, the route is for pages of every origin: the server does not check the origin of
   * requests, and `handle` answers preflights and sets the CORS headers. Without it, the server does both.
   */
  readonly methods: readonly ('GET' | 'HEAD' | 'POST' | 'OPTIONS')[]
  /** Returns the response. */
  handle(request: Request, endpoint: ServerInfo): Awaitable<Response>
}

/** Types a Durable Object class, which the platform instantiates. */
export interface DurableObjectClass {
  new (ctx: never, env: never): object
}

/** Provides values of a plugin to an endpoint. */
export interface Provided {
  /** Delivers the change notifications of the server, and stores which of its entries are enabled. */
  readonly changes?: Changes
  /** Opens the streams that answer requests of 2026-07-28, by method. Two plugins must not have the same method. */
  readonly streams?: Readonly<Record<string, OpenStream>>
  /** Serves the requests of sessions. At most one plugin of an endpoint provides it. */
  readonly transport?: Transport
  /** What the plugin adds to each session: `sessions()` knows its form. */
  readonly sessionPart?: object
  /** Reads additional filters from the params of `subscriptions/listen`; `undefined` without such a filter. */
  readonly subscriptionTopics?: SubscriptionTopics
  /** Counts and limits requests and calls, also without the classes of the plugin. At most one plugin of an endpoint provides it. */
  readonly limiter?: Limiter
}

/**
 * Adds methods, capabilities, interceptors, routes and Durable Object classes to an endpoint. Pass it in `plugins` of `serve()`, which
 * reads it once. A plugin never changes the server, so one server can be served several times with different plugins.
 *
 * @typeParam Classes the Durable Object classes that the Worker must export for the plugin, by name
 *
 * @example
 * const health: Plugin = {
 *   name: 'health',
 *   routes: () => [{ path: '/health', methods: ['GET'], handle: () => new Response('ok') }],
 * }
 * serve(server, { plugins: [health] })
 */
export interface Plugin<Classes extends Readonly<Record<string, DurableObjectClass>> = Record<never, never>> {
  /** Name of the plugin, for error messages. */
  readonly name: string
  /** Checks the declarations of the server when `serve()` is called. @throws Error that names the declaration and the fix */
  validate?(server: Server): void
  /** Extensions of MCP that the plugin adds, by name, with their settings. Default: none. */
  readonly extensions?: Readonly<Record<string, Params>>
  /**
   * Returns the methods that the plugin answers, by name. `inner` is the method without this plugin; `undefined` if the server does not
   * have it.
   */
  methods?(runtime: Runtime): Readonly<Record<string, (inner: Method | undefined) => Method>>
  /** Returns capabilities that the server declares in `initialize`. */
  capabilities?(revision: Revision, principal: Principal | undefined): Awaitable<Params>
  /**
   * Returns templates of resources that the plugin adds, as `server.resource` makes them. They precede those of the server, and are read and
   * listed like these.
   */
  templates?(runtime: Runtime): readonly TemplateResource[]
  /** Returns an interceptor around every step of every call, outside of those of the server. The one of the first plugin is outermost. */
  interceptor?(runtime: Runtime): Interceptor
  /**
   * Returns functions that return members of `ctx`, by the name of the member. Each is called once for each step of a call, before its
   * handler. Two plugins must not have the same member. `PluginContext` types new members.
   */
  context?(runtime: Runtime): ContextMembers
  /** Observes each HTTP request once it has a response, which may be a stream that continues. Errors are reported. */
  readonly onResponse?: AuditHook
  /** Returns routes besides the endpoint. Two plugins must not have the same path. */
  routes?(runtime: Runtime): readonly Route[]
  /** Provides values to the endpoint. `serve()` calls it once. The endpoint uses them if the Worker exports the classes of the plugin. */
  provide?(runtime: Runtime): Provided
  /** Creates the Durable Object classes of the plugin, by the names under which the Worker exports them. */
  readonly objects?: { readonly [Name in keyof Classes]: (runtime: Runtime) => Classes[Name] }
  /**
   * Called for each `initialize` request, before its response: in the Worker, and over HTTP+SSE in the Durable Object of the session. An
   * `McpError` refuses the client, any other error goes to `onError` and answers with `internal_error`. Clients of 2026-07-28 do not initialize.
   */
  onInitialize?(event: ClientEvent, runtime: Runtime): unknown
  /**
   * Called before a client subscribes to a resource that it may read, also if it has already subscribed: in the Durable Object of the
   * session, and for `subscriptions/listen` in the Worker, once for each URI. Any error refuses the subscription: a session gets it as an
   * error, `subscriptions/listen` acknowledges the other URIs.
   */
  onSubscribe?(event: SubscriptionEvent, runtime: Runtime): unknown
  /**
   * Called after a session has unsubscribed from a resource, and for each URI when a stream of `subscriptions/listen` has ended. Errors are
   * reported. Not called when a session ends, and when the Worker that holds a stream is lost.
   */
  onUnsubscribe?(event: SubscriptionEvent, runtime: Runtime): unknown
  /**
   * Called in the Durable Object of a session when it ends: at least once, for at most 10 seconds, before its data is deleted. Errors are
   * reported. Not called for a session that no request has used after `initialize`.
   */
  onSessionEnd?(event: SessionEndEvent, runtime: Runtime): unknown
}

/** Accepts any plugin, whatever classes it has. */
export type AnyPlugin = Plugin<Readonly<Record<string, DurableObjectClass>>> & {
  /** Refuses a function that returns a plugin, such as `subscriptions` without a call. */
  readonly bind?: never
}

/**
 * Authenticates and authorizes the callers of an endpoint, and serves its OAuth metadata and pages. `bearer()` of `edgemcp/auth` returns one.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization
 */
export interface Auth extends RequestAuth {
  /** Plugins that the auth needs: `serve()` adds them before those of the endpoint. Default: none. */
  readonly plugins?: readonly AnyPlugin[] | undefined
}

/** Computes the Durable Object classes of a list of plugins, by name. A list whose plugins are not known one by one has none. */
export type ClassesOf<P extends readonly AnyPlugin[]> = readonly AnyPlugin[] extends P
  ? Record<never, never>
  : Intersection<P[number]>

/** Computes the Durable Object classes that an `auth` needs, by name. */
export type ClassesOfAuth<A> = A extends { readonly plugins: infer P extends readonly AnyPlugin[] }
  ? ClassesOf<P>
  : Record<never, never>

type Intersection<P> = (P extends Plugin<infer Classes> ? (classes: Classes) => void : never) extends (
  classes: infer All,
) => void
  ? All
  : never
