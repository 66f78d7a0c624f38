/** Reads request bodies, within limits of content type, size, time and encoding. */
import { waitAtMost } from '../engine/wait.ts'
import { readBody as readBytes } from '../protocol/bounded-body.ts'
import { measured } from '../protocol/check-bounds.ts'
import { McpError } from '../protocol/errors.ts'
import { type Parsed, parse, unreadableBody } from '../protocol/jsonrpc.ts'
import { memoizeLast } from '../protocol/memoize-last.ts'
import { boundedHeader } from './bounded-header.ts'
import type { Limits } from './limits.ts'

/**
 * Reads the messages of a POST. A body that is too large or not UTF-8, and a message beyond a bound of `protocol/bounds.ts`, is returned as
 * malformed, with its error.
 *
 * @throws McpError `unsupported_media_type`, `content_too_large`, `request_timeout` or `parse_error` for a body that was not read
 */
export async function readMessages(request: Request, limits: Limits): Promise<Parsed> {
  const { text, problem } = await readBody(request, limits)
  return problem ? unreadableBody(problem, text) : measured(parse(text, limits), text.length)
}

/**
 * @returns the body; with `problem`, its first and last characters
 * @throws McpError `unsupported_media_type`, `content_too_large`, `request_timeout` or `parse_error`
 */
export async function readBody(
  request: Request,
  limits: Limits,
): Promise<{ text: string; problem?: McpError | undefined }> {
  const { headers } = request
  if (!isJson(boundedHeader(request, 'Content-Type') ?? '')) {
    throw new McpError('unsupported_media_type', 'Content-Type must be application/json')
  }
  const encoding = headers.get('Content-Encoding') ?? 'identity'
  if (encoding.toLowerCase() !== 'identity') {
    throw new McpError('unsupported_media_type', 'Send the body without Content-Encoding')
  }
  const announced = headers.get('Content-Length') ?? ''
  const { bytes, length } = await read(request, /^\d+$/.test(announced) ? Number(announced) : Number.NaN, limits)
  let problem = length > limits.maxBodyBytes ? tooLarge(limits) : undefined
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes)
  } catch {
    text = new TextDecoder().decode(bytes)
    problem ??= new McpError('parse_error', 'The body is not valid UTF-8')
  }
  return { text, problem }
}

const isJson = memoizeLast((header) => {
  const [type, ...parameters] = header.split(';').map((part) => part.trim().toLowerCase())
  if (type !== 'application/json') return false
  return parameters.every((parameter) => !parameter.startsWith('charset=') || /^charset="?utf-?8"?$/.test(parameter))
})

type Body = { readonly bytes: ArrayBuffer | Uint8Array; readonly length: number }

/** @param announced Content-Length in bytes; NaN without the header */
async function read(request: Request, announced: number, limits: Limits): Promise<Body> {
  // The runtime enforces Content-Length, and reads a body faster than JavaScript can.
  const reading: Promise<Body> =
    announced <= limits.maxBodyBytes
      ? request.arrayBuffer().then((bytes) => ({ bytes, length: announced }))
      : readBytes(request.body, limits.maxBodyBytes, maxDiscardedFactor * limits.maxBodyBytes).then(
          ({ bytes, length }) => ({ bytes: bytes.bytes(), length }),
        )
  const body = await waitAtMost(limits.bodyTimeoutMs, reading).catch(() => {
    throw new McpError('parse_error', 'The request body ended unexpectedly')
  })
  if (body) return body
  throw announced > limits.maxBodyBytes ? tooLarge(limits) : tooLate(limits)
}

/**
 * Multiple of the limit that is read, and discarded, before the connection is closed. A client whose connection closes while it still sends
 * does not receive the error.
 */
const maxDiscardedFactor = 16

const tooLarge = ({ maxBodyBytes }: Limits) =>
  new McpError('content_too_large', `The body is larger than ${maxBodyBytes} bytes`)
const tooLate = ({ bodyTimeoutMs }: Limits) =>
  new McpError('request_timeout', `The body did not arrive within ${bodyTimeoutMs} ms`)
