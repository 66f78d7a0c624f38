/** Reading a request body: of the right type, no larger than allowed, in time, and UTF-8. */
import { McpError } from '../protocol/errors.ts'
import { lastOf } from './last-of.ts'
import type { Limits } from './limits.ts'

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })

/** @throws McpError `unsupported_media_type`, `content_too_large`, `request_timeout` or `parse_error` */
export async function readBody(request: Request, limits: Limits): Promise<string> {
  if (!isJson(request.headers.get('Content-Type') ?? '')) {
    throw new McpError('unsupported_media_type', 'Content-Type must be application/json')
  }
  const encoding = request.headers.get('Content-Encoding') ?? 'identity'
  if (encoding.toLowerCase() !== 'identity') {
    throw new McpError('unsupported_media_type', 'Send the body without Content-Encoding')
  }
  const bytes = await readBytes(request, limits)
  try {
    return decoder.decode(bytes)
  } catch {
    throw new McpError('parse_error', 'The body is not valid UTF-8')
  }
}

const isJson = lastOf((header) => {
  const [type, ...parameters] = header.split(';').map((part) => part.trim().toLowerCase())
  if (type !== 'application/json') return false
  return parameters.every((parameter) => !parameter.startsWith('charset=') || /^charset="?utf-?8"?$/.test(parameter))
})

/** How many times the limit is read, and thrown away, before the connection is cut. */
const patienceFactor = 16

async function readBytes(request: Request, limits: Limits): Promise<ArrayBuffer> {
  if (!request.body) return new ArrayBuffer()
  const announced = request.headers.get('Content-Length') ?? ''
  const length = /^\d+$/.test(announced) ? Number(announced) : Number.NaN
  // The runtime holds a body to the length that it announces, and reads it faster than a program can.
  return length <= limits.body
    ? readWhole(request, limits)
    : readPieces(request.body as ReadableStream<Uint8Array<ArrayBuffer>>, length, limits)
}

async function readWhole(request: Request, { bodyTimeout }: Limits): Promise<ArrayBuffer> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(tooLate(bodyTimeout)), bodyTimeout)
  try {
    return await Promise.race([request.arrayBuffer(), late])
  } catch (problem) {
    throw problem instanceof McpError ? problem : brokenOff()
  } finally {
    clearTimeout(timer)
  }
}

/** @param announced bytes; NaN: not at all */
async function readPieces(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  announced: number,
  limits: Limits,
): Promise<ArrayBuffer> {
  const reader = body.getReader()
  let late = false
  const timer = setTimeout(() => {
    late = true
    reader.cancel().catch(() => {})
  }, limits.bodyTimeout)
  const chunks: Uint8Array<ArrayBuffer>[] = []
  let length = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      length += value.byteLength
      if (length <= limits.body) chunks.push(value)
      // Hanging up on a client that still sends would cost it the answer, so a while longer what comes is thrown away.
      else chunks.length = 0
      if (length > patienceFactor * limits.body) {
        reader.cancel().catch(() => {})
        break
      }
    }
  } catch {
    if (!late) throw brokenOff()
  } finally {
    clearTimeout(timer)
  }
  if (length > limits.body || announced > limits.body) {
    throw new McpError('content_too_large', `The body is larger than ${limits.body} bytes`)
  }
  if (late) throw tooLate(limits.bodyTimeout)
  return new Blob(chunks).arrayBuffer()
}

const brokenOff = () => new McpError('parse_error', 'The body broke off')

const tooLate = (milliseconds: number) =>
  new McpError('request_timeout', `The body did not arrive within ${milliseconds} ms`)
