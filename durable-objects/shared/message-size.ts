/**
 * Size limits of one message of a session. They are limits of the platform, checked here because its errors name neither the size nor the
 * limit, and because local workerd allows larger rows than production.
 *
 * @see https://developers.cloudflare.com/durable-objects/platform/limits/
 */
import type { ResultLimit } from '../../worker/engine/result-size.ts'
import { McpError } from '../../worker/protocol/errors.ts'
import { utf8 } from '../../worker/protocol/utf8.ts'

/** Bytes of one row. Each message on a stream is a row, and each call that waits or streams. */
export const maxRowBytes = 2_000_000

/** Bytes of the return value of an RPC method, less the size of what surrounds the message. */
export const maxRpcBytes = 32 * 1024 * 1024 - 64 * 1024

/** Limits of results: see `limits.maxResultBytes` of `serve()`. */
export const streamLimit: ResultLimit = { maxBytes: maxRowBytes - 4096, place: 'a stream of a session' }
export const rpcLimit: ResultLimit = { maxBytes: maxRpcBytes - 4096, place: 'a response of a session' }

/**
 * @param what names the text in the error, such as "The result"
 * @throws McpError `internal_error` that names the size and the limit
 */
export function checkSize(what: string, text: string, maxBytes: number): void {
  const error = tooLarge(what, text, maxBytes)
  if (error) throw error
}

/** Returns the error for a text that is too large; `undefined` for others. */
export function tooLarge(what: string, text: string, maxBytes: number): McpError | undefined {
  // No UTF-16 code unit takes more than three bytes.
  if (text.length * 3 <= maxBytes) return undefined
  const { byteLength } = utf8(text)
  if (byteLength <= maxBytes) return undefined
  const place = maxBytes === maxRowBytes ? 'On a stream of a session' : 'In a response of a session'
  const message = `${what} has ${byteLength} bytes. ${place} it has at most ${maxBytes} bytes: send less at a time, such as one page or links to resources`
  return new McpError('internal_error', message, { bytes: byteLength, maxBytes })
}
