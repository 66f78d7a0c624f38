import type { Server } from './declarations/server.ts'
import type { ServerInfo } from './request-hooks.ts'

/** A Worker that serves a server. `serve()` returns one. */
export interface ServedWorker {
  fetch(request: Request, env: unknown, ctx: ExecutionContext): Promise<Response>
  /** The paths of its endpoints. */
  readonly paths: ServerInfo['paths']
  /** The paths that its plugins answer, such as `/` of `page()`. */
  readonly routes: readonly string[]
  /** The server that it serves. */
  readonly server: Server
}
