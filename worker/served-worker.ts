import type { Server } from './declarations/server.ts'
import type { ServerInfo } from './request-hooks.ts'

/** A Worker that serves a server. `serve()` returns one. */
export interface ServedWorker {
  fetch(request: Request, env: unknown, ctx: ExecutionContext): Promise<Response>
  /** What it serves, besides the page at `/` and what `auth` publishes. */
  readonly paths: ServerInfo['paths']
  /** The server that it serves. */
  readonly server: Server
}
