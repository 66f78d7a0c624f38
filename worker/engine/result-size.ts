/** The limit of one result: `limits.maxResultBytes` of `serve()`. */

import type { Declarations } from '../declarations/declarations.ts'
import { toolError } from '../declarations/result-constructors.ts'
import { McpError } from '../protocol/errors.ts'
import type { Result } from '../protocol/types.ts'
import { utf8 } from '../protocol/utf8.ts'
import type { Call } from './call.ts'
import { subjectOf } from './failure.ts'

/** What one result may have, and why. */
export type ResultLimit = {
  /** Bytes of JSON in UTF-8. */
  readonly maxBytes: number
  /** What has the limit, for the error, such as `a stream of a session`. */
  readonly place: string
}

/** Methods with a result of a handler: it may request input, and `limits.maxResultBytes` limits its result. */
export const handlerMethods: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

/** Returns the smaller one of `limits.maxResultBytes` and another limit. */
export function limitOf(
  { maxResultBytes = Number.POSITIVE_INFINITY }: Declarations,
  { method }: Pick<Call, 'method'>,
  limit?: ResultLimit,
): ResultLimit {
  const maxBytes = handlerMethods.has(method) ? maxResultBytes : Number.POSITIVE_INFINITY
  return limit && limit.maxBytes < maxBytes ? limit : { maxBytes, place: 'this server' }
}

/** Returns the error for a result that exceeds a limit; `undefined` for others. @param text the result as JSON */
export function resultTooLarge(
  call: Pick<Call, 'method' | 'params'>,
  text: string,
  { maxBytes, place }: ResultLimit,
): McpError | undefined {
  // No UTF-16 code unit takes more than three bytes.
  if (text.length * 3 <= maxBytes) return undefined
  const bytes = bytesOf(text)
  if (bytes <= maxBytes) return undefined
  const message = `${subjectOf(call)} returned ${bytes} bytes of JSON, and ${place} sends at most ${maxBytes}: request less at a time, such as one page, or a link to the data`
  return new McpError('internal_error', message, { bytes, maxBytes })
}

/** Counts the bytes of a text in UTF-8, without a copy of all of it. */
function bytesOf(text: string): number {
  let bytes = 0
  for (let at = 0; at < text.length; at += 65_536) bytes += utf8(text.slice(at, at + 65_536)).byteLength
  return bytes
}

/**
 * Returns the result that takes the place of one that is too large: the model reads the error of a tool.
 *
 * @throws McpError the error itself, for another method
 */
export function instead({ method }: Pick<Call, 'method'>, error: McpError): Result {
  if (method !== 'tools/call') throw error
  return toolError(error.message)
}
