import type { Server } from './declarations/server.ts'
import type { ServerInfo } from './request-hooks.ts'

/** Holds a Worker that serves a server, as `serve()` returns it. */
export interface ServedWorker {
  /** Answers HTTP requests to the endpoint and to the routes of its plugins. */
  fetch(request: Request, env: unknown, ctx: ExecutionContext): Promise<Response>
  /** Paths of the endpoint, with `{tenant}` if its tenants have paths. Those of HTTP+SSE are absent without `sessions()`. */
  readonly paths: Pick<ServerInfo['paths'], 'mcp'> & Partial<ServerInfo['paths']>
  /** Paths of the plugins and of `auth`, such as `/` of `page()`. */
  readonly routes: readonly string[]
  /** Whether a request is for an existing tenant. Absent for an endpoint without tenants. */
  isOfTenant?(request: Request): Promise<boolean>
  /** The server that the Worker serves. */
  readonly server: Server
}
