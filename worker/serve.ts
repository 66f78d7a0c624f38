/** The composition root: a server and its options become a Worker and its Durable Objects. */

import { env, waitUntil } from 'cloudflare:workers'
import { IttyRouter } from 'itty-router/IttyRouter'
import { Keys } from '../durable-objects/keys.ts'
import type { Placement } from '../durable-objects/placement.ts'
import type { SessionRpc, Shards, UpdatesRpc } from '../durable-objects/rpc.ts'
import { Session } from '../durable-objects/session/object.ts'
import { readSessionAddress } from '../durable-objects/session/session-address.ts'
import type { SessionHost } from '../durable-objects/session/session-host.ts'
import { termsText } from '../durable-objects/session/session-terms.ts'
import type { Subscriptions } from '../durable-objects/session/subscriptions.ts'
import { defaultLogBounds, type ReplayLimits } from '../durable-objects/shared/event-log.ts'
import type { Updates, UpdatesHost, UpdatesOptions } from '../durable-objects/updates.ts'
import type { AuditHook, Auth, IncomingRequest, Limiter } from './auth/auth.ts'
import * as developing from './development/index.ts'
import { lackedScopes, scopesOf } from './engine/scopes.ts'
import { errorResponse, notAllowed } from './http/error-response.ts'
import { guardHost, guardOrigin, type Policy, preflight, withCors } from './http/guard.ts'
import { type Host, type Objects, sealsOf, type Updating } from './http/host.ts'
import { openSse, postSse } from './http/http-sse.ts'
import { defaultLimits, type Limits } from './http/limits.ts'
import { get, post, remove } from './http/mcp.ts'
import { memoizeLast } from './http/memoize-last.ts'
import { sessionLife } from './http/sessions.ts'
import { checkNames } from './options/check.ts'
import { hasClass, keys, object, once, secretSealer } from './platform.ts'
import { asMcpError, McpError } from './protocol/errors.ts'
import { checkServe } from './serve-options.ts'
import type { CallAttempt } from './server/call-attempt.ts'
import { admittedBy, checkSessionServer, endpointKey, enterFor, registerEndpoint } from './server/endpoints.ts'
import type { Registry, Server } from './server/server.ts'
import type { StateRpc } from './server/state.ts'

export type ServeOptions = Partial<Policy> & {
  /** Where the endpoint is. Default `/mcp`; the 2024-11-05 pair `/sse` and `/messages` lies beside it. */
  path?: string
  /** Who may call; everyone when left out. */
  auth?: Auth
  /** How much may be asked: `limits()` of `edgemcp/limits`. */
  limit?: Limiter
  /**
   * Called for every request, once it has a response: `audit()` of `edgemcp/audit`, `messages()` of `edgemcp/observe`. One hook, or several
   * in the order in which they run. An error that a hook throws is reported, and changes nothing for the client and the other hooks.
   */
  audit?: AuditHook | readonly AuditHook[]
  /** `false`: no session ids and no streams, even when the Durable Objects are there. */
  sessions?: false | SessionOptions
  /** What a person sees at `/`: the `page` of `edgemcp/page`. Nothing when left out. */
  page?: Page
  limits?: Partial<Limits>
  /** Whether clients hear of changes: `updates()` of `edgemcp/updates`. They do not when left out. */
  updates?: UpdatesFeature
  /**
   * Names this server in what it seals: session ids, request states, cursors, state handles and task ids. Servers of other identities do not
   * accept these, even with the same keys. Default: the server's name and `path`.
   */
  identity?: string
  /** Names of the exported classes, for a Worker with more than one server. */
  objects?: { session?: string; updates?: string; state?: string }
}

export type SessionOptions = Placement & {
  /** Milliseconds after which an idle session is over. Default one day. */
  ttl?: number
  /** How much of a stream is kept for clients that come back. */
  log?: Partial<ReplayLimits>
}

/** What `updates()` of `edgemcp/updates` returns. */
export type UpdatesFeature = {
  readonly Updates: new (ctx: DurableObjectState, env: never, host: UpdatesHost) => Updates
  /** The subscriptions of a session. */
  readonly Subscriptions: typeof Subscriptions
  readonly options: UpdatesOptions
  readonly of: Shards['of']
  readonly listen: Updating['listen']
  attach(registry: Registry, firstShard: () => UpdatesRpc): void
}

// Interfaces, so that declaration files of Workers that export these classes can name them.

/** The Durable Object class to export as `McpSession`. */
export interface SessionClass {
  new (ctx: DurableObjectState, env: never): Session
}

/** The Durable Object class to export as `McpUpdates`. */
export interface UpdatesClass {
  new (ctx: DurableObjectState, env: never): Keys
}

/** Answers GET and HEAD of `/`. */
export type Page = (request: Request, host: Host) => Promise<Response>

/** A Worker to export by default, and the two classes it needs exported by name. */
export interface McpWorker {
  fetch(request: Request, env: unknown, ctx: ExecutionContext): Promise<Response>
  /** What it serves, besides the page at `/` and what `auth` publishes. */
  readonly paths: Host['paths']
  /** The server that it serves. */
  readonly server: Server
  readonly McpSession: SessionClass
  readonly McpUpdates: UpdatesClass
}

/** The subscriptions of sessions, once an endpoint has `updates()`: one class may keep the sessions of several endpoints. */
let subscriptions: typeof Subscriptions | undefined

/** A misspelt name could leave a server open, so they are compared in deployments, too. */
const optionNames = Object.keys({
  path: 0,
  auth: 0,
  limit: 0,
  audit: 0,
  sessions: 0,
  page: 0,
  limits: 0,
  updates: 0,
  identity: 0,
  objects: 0,
  origins: 0,
  hosts: 0,
} satisfies Record<keyof ServeOptions, 0>)

/**
 * Serves a server to every MCP client there is.
 *
 * @example
 * const worker = serve(server)
 * export default worker
 * export const { McpSession, McpUpdates } = worker
 */
export function serve(server: Server, options: ServeOptions = {}): McpWorker {
  if (globalThis.process?.env?.NODE_ENV !== 'production') checkServe(server, options)
  checkNames('serve()', options, optionNames)
  const names = { session: 'McpSession', updates: 'McpUpdates', state: 'McpState', ...options.objects }
  const limits: Limits = { ...defaultLimits, ...options.limits }
  const report = (problem: unknown) => console.error(problem)
  const sessions = options.sessions || {}
  const session = (name: string): SessionRpc => object(names.session, name, sessions)
  const sessionAt = (address: string): SessionRpc => {
    const { className, name } = readSessionAddress(address)
    return hasClass(className) ? object(className, name, sessions) : session(name)
  }
  const { updates } = options
  const shards: Shards = {
    of: (name) => updates?.of(name) ?? 0,
    at: (shard) => object(names.updates, `updates${shard ? ` ${shard}` : ''}`, sessions),
  }
  const state = (name: string): StateRpc => object(names.state, name, sessions)
  const keyed = keys(() => shards.at(0).keys())
  updates?.attach(server.registry, () => shards.at(0))
  subscriptions ??= updates?.Subscriptions
  server.registry.complete = (work) => waitUntil(work.catch(report))
  const isWhole = () => options.sessions !== false && hasClass(names.session) && hasClass(names.updates)
  const paths = pathsOf(options.path ?? '/mcp')
  const identity = JSON.stringify(
    options.identity === undefined ? [server.registry.options.name, paths.mcp] : [options.identity],
  )
  const endpoint = endpointKey(identity, options.auth?.tenant)
  // `wrangler dev` puts "development" in the place of this expression, `wrangler deploy` "production". Written out where it is
  // used, so that bundlers leave nothing of it to a deployment.
  if (globalThis.process?.env?.NODE_ENV === 'development') {
    options = developing.watch(server.registry, options, { env, names, base: Object.getPrototypeOf(Session) })
  }
  options.auth?.validate?.(server)
  options.limit?.validate?.(server)
  const hooks = [options.audit ?? []].flat()
  const enterWith = options.limit?.enter?.bind(options.limit)
  const enter = enterWith && ((attempt: CallAttempt) => enterWith(attempt, { server, state }))
  const main = { server, auth: options.auth, enter }
  registerEndpoint(endpoint, main)
  const admitted = admittedBy(endpoint, main, options.limit?.handlerTimeMs)

  const terms = {
    streamAfterMs: limits.streamAfterMs,
    ttl: sessions.ttl ?? 24 * 60 * 60_000,
    log: { ...defaultLogBounds, ...sessions.log },
  }
  const termsOf = (session: string) => termsText({ ...terms, shard: updates?.of(session) })
  const sessionHost: SessionHost = {
    server,
    className: names.session,
    life: sessionLife,
    termsOf,
    seals: (principal, identity) => sealsOf({ identity, sealer: () => keyed(identity) }, principal),
    state,
    get Subscriptions() {
      return subscriptions
    },
    updatesAt: shards.at,
    enterOf: (admitted) => enterFor(admitted, enter),
    checkServer: (admitted) => checkSessionServer(admitted, server, names.session),
    report,
  }

  const host = once((): Host => {
    const objects: Objects | undefined = isWhole() ? { session } : undefined
    return {
      server,
      limits,
      policy: { origins: options.origins ?? [], hosts: options.hosts ?? [] },
      auth: options.auth,
      limit: options.limit,
      paths,
      objects,
      updating: objects && updates && { shards, listen: updates.listen, options: updates.options },
      state,
      lackedScopes: (principal, message) =>
        lackedScopes(server.registry, principal, message, sealsOf(host(), principal).open),
      scopesOf: (principal, message) => scopesOf(server.registry, message, sealsOf(host(), principal).open, principal),
      round: (name) => object(names.session, `round ${name}`, sessions),
      waitUntil,
      identity,
      admitted,
      termsOf,
      sealer: once(() => keyed(identity)),
      documentSeals: once(() => {
        const sealer = secretSealer(identity)
        return sealer && { sealer, identity }
      }),
      report,
    }
  })
  const route = once(() => router(host(), options.page))
  const urlOf = memoizeLast((text) => new URL(text))

  const worker: McpWorker = {
    paths,
    server,
    async fetch(request, _, context) {
      const endpointHost = host()
      const { auth, policy } = endpointHost
      const url = urlOf(request.url)
      const elsewhere = guardHost(url, policy)
      // Every page may read how to be let in.
      const described = elsewhere ? undefined : auth?.handleMetadataRequest?.(request, endpointHost)
      if (described) return described
      const incoming: IncomingRequest = { request, context }
      const foreign = elsewhere ?? guardOrigin(request.headers.get('Origin'), url, policy)
      // What most requests are needs no looking for.
      const isCall = url.pathname === endpointHost.paths.mcp && request.method === 'POST'
      const served = () => (isCall ? post(request, endpointHost, incoming) : route().fetch(request, incoming))
      const response = await respond(served, foreign, incoming, report)
      runHooks(hooks, incoming, response, endpointHost)
      return withCors(options.limit?.track?.(incoming, response) ?? response, request, foreign !== undefined)
    },
    McpSession: class McpSession extends Session {
      constructor(ctx: DurableObjectState, env: never) {
        super(ctx, env, sessionHost)
      }
    },
    McpUpdates: updates ? updatesClass(updates, { shards, session: sessionAt, report }) : Keys,
  }
  if (globalThis.process?.env?.NODE_ENV === 'development') return developing.timed(worker)
  return worker
}

const updatesClass = ({ Updates, options }: UpdatesFeature, host: Omit<UpdatesHost, 'options'>) =>
  class McpUpdates extends Updates {
    constructor(ctx: DurableObjectState, env: never) {
      super(ctx, env, { ...host, options })
    }
  }

function runHooks(hooks: readonly AuditHook[], incoming: IncomingRequest, response: Response, host: Host): void {
  for (const hook of hooks) {
    try {
      hook(incoming, response, host)
    } catch (problem) {
      host.report(problem)
    }
  }
}

type Handler = (
  request: Request,
  host: Host,
  incoming: IncomingRequest,
  methods: string,
) => Response | Promise<Response>

function router(host: Host, page: Page | undefined) {
  const { mcp, sse, messages } = host.paths
  const router = IttyRouter()
  const route = (path: string, handlers: Readonly<Record<string, Handler>>) => {
    const methods = Object.keys(handlers).join(', ')
    for (const [method, handler] of Object.entries(handlers)) {
      router[method]?.(path, (request: Request, incoming: IncomingRequest) => handler(request, host, incoming, methods))
    }
    router.all(path, () => notAllowed(methods))
  }
  const OPTIONS: Handler = (request, _host, _incoming, methods) => preflight(request, methods)
  route(mcp, { GET: get, POST: post, DELETE: remove, OPTIONS })
  if (sse) {
    route(sse, { GET: openSse, OPTIONS })
    route(messages, { POST: postSse, OPTIONS })
  }
  if (page) route('/', { GET: page, HEAD: page })
  return router.all('*', () => new Response(`Not found. The MCP endpoint is ${mcp}\n`, { status: 404 }))
}

async function respond(
  route: () => Promise<Response>,
  error: McpError | undefined,
  incoming: IncomingRequest,
  report: Host['report'],
): Promise<Response> {
  try {
    if (error) throw error
    return await route()
  } catch (thrown) {
    incoming.rejection = asMcpError(thrown, report)
    const response = errorResponse(incoming.rejection)
    // Nothing was asked that this could be the answer to.
    return thrown instanceof McpError || incoming.rejection.kind !== 'internal_error'
      ? response
      : new Response(response.body, { status: 500, headers: response.headers })
  }
}

function pathsOf(mcp: string): Host['paths'] {
  const parent = mcp.slice(0, mcp.lastIndexOf('/') + 1)
  return { mcp, sse: `${parent}sse`, messages: `${parent}messages` }
}
