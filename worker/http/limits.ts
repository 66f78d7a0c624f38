import { type Bounds, defaultBounds } from '../protocol/jsonrpc.ts'

/** Limits requests and streams. Sizes are bytes, times are milliseconds. */
export type Limits = Bounds & {
  /** Bytes of one request body. Beyond it, the response is 413. Default: 4 MiB. */
  maxBodyBytes: number
  /**
   * Bytes of one result of a tool, a resource or a prompt, as JSON. Beyond it, the model reads an error of the tool, which names the size; a
   * resource or a prompt fails. A stream of a session sends at most 2,000,000 bytes. `Infinity`: no limit. Default: 8 MiB.
   */
  maxResultBytes: number
  /** Milliseconds in which a body must arrive. After that, the response is 408. Default: 30 seconds. */
  bodyTimeoutMs: number
  /** Milliseconds without a message after which the response of a call becomes an event stream. Default: 5 seconds. */
  streamAfterMs: number
  /** Milliseconds between keep-alive comments on a stream. Default: 15 seconds. */
  keepAliveMs: number
  /**
   * Bytes that wait for a slow reader. Beyond it, a stream of a session, or of `subscriptions/listen`, pauses and continues from the
   * stored events; another stream drops progress and log messages. Default: 1 MiB.
   */
  maxBufferedBytes: number
  /**
   * Milliseconds after which a stream ends, so that no client that has stopped reading holds one forever: streams of sessions of
   * 2025-11-25, which their clients resume, and streams of `subscriptions/listen`. Streams end after 80 to 100 % of it, not all at once.
   * `Infinity`: streams do not end. Default: 1 hour.
   */
  maxStreamAgeMs: number
}

export const defaultLimits: Limits = {
  ...defaultBounds,
  maxBodyBytes: 4 * 1024 * 1024,
  maxResultBytes: 8 * 1024 * 1024,
  bodyTimeoutMs: 30_000,
  streamAfterMs: 5_000,
  keepAliveMs: 15_000,
  maxBufferedBytes: 1024 * 1024,
  maxStreamAgeMs: 60 * 60_000,
}
