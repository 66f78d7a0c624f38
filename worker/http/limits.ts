import { type Bounds, defaultBounds } from '../protocol/jsonrpc.ts'

/** Bounds of requests and streams, in bytes and milliseconds. */
export type Limits = Bounds & {
  /** Bytes of one request body. Default 4 MiB. */
  maxBodyBytes: number
  /** Milliseconds until a body must have arrived. Default 30 s. */
  bodyTimeoutMs: number
  /** Milliseconds a silent call may take before its answer becomes a stream. Default 5 s. */
  streamAfterMs: number
  /** Milliseconds between keep-alive comments on a stream. Default 15 s. */
  keepAliveMs: number
  /**
   * Bytes that may wait for a slow reader. Beyond them a session's stream rests, and goes on from its log when the reader
   * has caught up; another stream leaves out progress and log lines; one of changes ends. Default 1 MiB.
   */
  maxBufferedBytes: number
}

export const defaultLimits: Limits = {
  ...defaultBounds,
  maxBodyBytes: 4 * 1024 * 1024,
  bodyTimeoutMs: 30_000,
  streamAfterMs: 5_000,
  keepAliveMs: 15_000,
  maxBufferedBytes: 1024 * 1024,
}
