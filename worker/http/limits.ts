import { type Bounds, defaultBounds } from '../protocol/jsonrpc.ts'

/** How much a client may ask of this server, and for how long. Bytes and milliseconds. */
export type Limits = Bounds & {
  /** Bytes of one request body. Default 4 MiB. */
  body: number
  /** Milliseconds until a body must have arrived. Default 30 s. */
  bodyTimeout: number
  /** Milliseconds a silent call may take before its answer becomes a stream. Default 5 s. */
  patience: number
  /** Milliseconds between keep-alive comments on a stream. Default 15 s. */
  keepAlive: number
  /**
   * Bytes that may wait for a slow reader. Beyond them a session's stream rests, and goes on from its log when the reader
   * has caught up; another stream leaves out progress and log lines; one of changes ends. Default 1 MiB.
   */
  backlog: number
}

export const defaultLimits: Limits = {
  ...defaultBounds,
  body: 4 * 1024 * 1024,
  bodyTimeout: 30_000,
  patience: 5_000,
  keepAlive: 15_000,
  backlog: 1024 * 1024,
}
