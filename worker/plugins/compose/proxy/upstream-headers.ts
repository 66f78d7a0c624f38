/** The headers of requests to upstreams: those of the option `headers`, with those of the protocol. */

import { isTimeoutError } from '../../../client/request-guard.ts'
import { isPlain } from '../../../declarations/check-options.ts'
import { McpError } from '../../../protocol/errors.ts'
import { isObject } from '../../../protocol/jsonrpc.ts'
import { OptionError } from './option-error.ts'

/** Headers that can be sent, with names in lower case and in one order: equal headers have equal texts as JSON. */
export type UpstreamHeaders = Readonly<Record<string, string>>

/** Headers that MCP defines, such as those of a session. */
export type ProtocolHeaders = Readonly<Record<string, string>>

/**
 * Calls the option `headers`. Headers without a value are left out.
 *
 * @throws TypeError when it returns anything but an object with headers that can be sent. It contains no values, which are credentials
 */
export async function readHeaders(read: () => unknown): Promise<UpstreamHeaders> {
  const returned = await read()
  if (returned instanceof Headers) return Object.fromEntries(returned)
  if (!isObject(returned) || !isPlain(returned)) {
    throw new TypeError(`it returned ${typeName(returned)}: return an object with the headers`)
  }
  const headers = new Headers()
  for (const [name, value] of Object.entries(returned)) {
    if (value === undefined || value === null) continue
    if (typeof value !== 'string') {
      throw new TypeError(`it returned ${typeName(value)} as "${name}": return a string`)
    }
    try {
      headers.set(name, value)
    } catch {
      // Without the cause: its message may contain the value.
      throw new TypeError(
        `it returned a header "${name}" that HTTP cannot carry: return a name without blanks, and a value without line breaks`,
      )
    }
  }
  return Object.fromEntries(headers)
}

function typeName(value: unknown): string {
  if (value === null || typeof value !== 'object') return value === undefined ? 'undefined' : `a ${typeof value}`
  return `an object of the class ${value.constructor?.name}`
}

/**
 * Waits for headers until a signal is aborted.
 *
 * @param what names the proxy
 * @throws McpError that the option `headers` throws; OptionError for any other error of it, and after a timeout; the reason of the signal
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
    const isGone = signal.aborted && problem === signal.reason && !isTimeoutError(signal.reason)
    throw isGone || problem instanceof McpError ? problem : new OptionError('headers', what, problem)
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** Returns the headers of the option `headers`, with those of the protocol, which the option cannot set. */
export function withProtocolHeaders(developers: HeadersInit, protocol: ProtocolHeaders): Headers {
  const headers = new Headers(developers)
  for (const name of [...headers.keys()]) if (name.startsWith('mcp-')) headers.delete(name)
  for (const [name, value] of Object.entries(protocol)) headers.set(name, value)
  return headers
}
