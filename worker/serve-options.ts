/** The options of `serve()`, and their check. */
import type { Placement } from '../durable-objects/placement.ts'
import { checkOptions, checkValue, isObject, type KindsOf } from './declarations/check-options.ts'
import type { Awaitable } from './declarations/context.ts'
import type { HandlerErrors, OnError } from './declarations/failure.ts'
import * as kind from './declarations/option-kinds.ts'
import type { RequestContext } from './declarations/request-context.ts'
import { policyKinds } from './http/check-origins-and-hosts.ts'
import { type CorsOptions, corsKinds } from './http/cors.ts'
import type { Limits } from './http/limits.ts'
import type { Policy } from './http/origin-and-host.ts'
import type { AnyPlugin, Auth } from './plugin.ts'
import type { Principal } from './protocol/principal.ts'
import type { IncomingRequest } from './request-hooks.ts'
import type { Tenants } from './tenants.ts'

/** Configures the endpoint of a server. */
export type ServeOptions<
  P extends readonly AnyPlugin[] = readonly AnyPlugin[],
  A extends Auth = Auth,
> = Partial<Policy> & {
  /** Path of the endpoint. The HTTP+SSE endpoints of 2024-11-05, `sse` and `messages`, have the same parent path. Default: `/mcp`. */
  path?: string
  /** Authenticates and authorizes callers, such as `bearer()` of `edgemcp/auth`. Default: everyone may call, without a principal. */
  auth?: A
  /**
   * Serves several tenants, each with an `auth` of its own instead of the option `auth`: `tenants()` of `edgemcp/auth`. Default: the
   * endpoint has no tenants; the `auth` may name that of a principal.
   */
  tenants?: Tenants
  /**
   * Plugins of the endpoint, such as `[sessions(), subscriptions(), rateLimit()]`. The interceptor of the first plugin is outermost. Default:
   * none.
   */
  plugins?: readonly [...P]
  /**
   * Computes data for handlers from each POST that contains calls, after authentication: `ctx.requestContext`. Runs in the Worker, once per
   * HTTP request. Default: an empty object.
   */
  requestContext?: ReadRequestContext
  /**
   * Observes each value that a handler threw: a tool, a resource, a prompt, `list`, `complete`, `authorize`, `visibleTo`, an interceptor, a
   * method of an extension, or a run of a task. It does not see errors that the client caused: a `ToolError`, and an `McpError` other than
   * `internal_error`, `unavailable` and a timeout of the handler. Default: errors are only logged.
   */
  onError?: OnError
  /**
   * Text that the client receives for an error that is neither a `ToolError` nor an `McpError`. `'message'`: the model reads the message of
   * an `Error` that a tool threw; errors of other handlers are `Internal error`. `'generic'`: `The tool "x" failed (error id 1a2b3c4d)` and
   * likewise for other handlers. Or a function that returns the text. Default: `'message'`.
   */
  handlerErrors?: HandlerErrors
  /** Limits of requests and streams. Default: the default of each limit. */
  limits?: Partial<Limits>
  /**
   * Name of this server in all that it seals: session ids, request states, cursors, state handles and task ids. Servers with another
   * identity reject these values, even with the same keys, and do not read the results that this one stores. Default: the name of the server
   * and `path`.
   */
  identity?: string
  /**
   * Placement and exported names of the Durable Objects of all classes, those of plugins included. Default: placed by Cloudflare, under
   * their default names.
   */
  durableObjects?: DurableObjectOptions
  /** Adds to the CORS headers of all responses of the endpoint, and of routes of plugins. Default: the headers of MCP only. */
  cors?: CorsOptions
}

/**
 * Computes the request context of one HTTP request.
 *
 * @param request the HTTP request. Its body has been read
 * @param caller `principal`: the authenticated caller, `undefined` for an anonymous one. `env`: the bindings of the Worker
 * @returns the data: JSON and values of `secret()`, at most 16,384 characters as JSON
 * @throws McpError to reject the request with this error; a `Response` to reject it with this response. Any other error becomes
 * `internal_error`
 */
export type ReadRequestContext = (
  request: Request,
  caller: {
    /** The authenticated caller; `undefined` for an anonymous caller. */
    readonly principal: Principal | undefined
    /** The bindings of the Worker. */
    readonly env: Cloudflare.Env
    /** The `ctx` of the Worker: `props` and `auth`, which wrappers such as OAuthProvider set. */
    readonly context: IncomingRequest['context']
  },
) => Awaitable<RequestContext>

/**
 * Places and names the Durable Objects of an endpoint.
 *
 * @see https://developers.cloudflare.com/durable-objects/reference/data-location/
 */
export type DurableObjectOptions = Placement & {
  /**
   * Exported name of each class, by its default name, for a Worker with several servers: `{ McpSession: 'OtherSession' }`. Default: the
   * default names.
   */
  names?: Readonly<Record<string, string>>
}

const kinds: KindsOf<ServeOptions> = {
  path: kind.path,
  auth: kind.auth,
  tenants: kind.having('tenantOf', 'what tenants() returns'),
  plugins: kind.plugins,
  requestContext: kind.fn,
  onError: kind.fn,
  handlerErrors: [
    (value) => value === 'message' || value === 'generic' || kind.fn[0](value),
    "'message', 'generic' or a function",
  ],
  limits: kind.object({
    maxJsonDepth: kind.count,
    maxJsonValues: kind.atLeastOne,
    maxBatchSize: kind.amount,
    maxBodyBytes: kind.atLeastOne,
    maxResultBytes: kind.atLeastOne,
    bodyTimeoutMs: kind.atLeastOne,
    streamAfterMs: kind.amount,
    keepAliveMs: kind.atLeastOne,
    maxBufferedBytes: kind.amount,
    maxStreamAgeMs: kind.atLeastOne,
  } satisfies KindsOf<Limits>),
  identity: kind.name,
  durableObjects: kind.object({
    jurisdiction: kind.string,
    locationHint: kind.string,
    names: [
      (value) => isObject(value) && Object.values(value).every((name) => typeof name === 'string' && name !== ''),
      "names of classes, such as { McpSession: 'OtherSession' }",
    ],
  } satisfies KindsOf<DurableObjectOptions>),
  ...policyKinds,
  cors: kind.object(corsKinds),
}

/** @throws Error that names the option, and what was expected */
export function checkServe(server: unknown, options: ServeOptions): void {
  checkValue('serve()', 'server', server, kind.server)
  checkOptions('serve()', options, kinds)
  const { tenants, auth, path } = options
  if (tenants && auth) throw new Error('serve() has auth and tenants: return the auth of each tenant from tenants()')
  if (tenants?.pattern.startsWith('/') && path !== undefined) {
    throw new Error(`serve() has the path "${path}" and tenants with the path "${tenants.pattern}": leave out path`)
  }
}
