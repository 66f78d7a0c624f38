import type { Awaitable } from '../../../declarations/context.ts'
import { McpError, messageOf } from '../../../protocol/errors.ts'
import { isObject } from '../../../protocol/jsonrpc.ts'
import { isTimeout } from './upstream-http.ts'

export type UpstreamHeaders = Readonly<Record<string, string>>

/** Carries an error of the option `headers` of `proxy()` to the log. The client gets an internal error. */
export class HeadersError extends Error {
  override readonly name = 'HeadersError'

  /** @param what names the proxy */
  constructor(what: string, problem: unknown) {
    super(`"headers" of ${what} failed: ${messageOf(problem)}`, { cause: problem })
  }
}

/** Calls the option `headers`. @throws Error when it returns no object */
export async function readHeaders(read: () => Awaitable<UpstreamHeaders>): Promise<UpstreamHeaders> {
  const headers: unknown = await read()
  if (!isObject(headers)) throw new TypeError(`it returned ${String(headers)}: return an object with the headers`)
  return headers as UpstreamHeaders // its values become text in `new Headers`
}

/**
 * Waits for headers until a signal is aborted.
 *
 * @param what names the proxy
 * @throws McpError that the option `headers` throws; HeadersError for any other error of it, and after a timeout; the reason of the signal
 */
export async function waitForHeaders(
  reading: Promise<UpstreamHeaders>,
  signal: AbortSignal,
  what: string,
): Promise<UpstreamHeaders> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const stop = () => reject(signal.reason)
  if (signal.aborted) stop()
  else signal.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([reading, aborted])
  } catch (problem) {
    const isGone = signal.aborted && problem === signal.reason && !isTimeout(signal)
    throw isGone || problem instanceof McpError ? problem : new HeadersError(what, problem)
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
