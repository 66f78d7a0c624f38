/**
 * HTTP/1.1 over a bare socket, for requests that no well-behaved client can be made to send.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9112
 */
import { connect } from 'node:net'

export type RawAnswer = { status: number; headers: Headers; text: string }

export type RawRequest = {
  /** What goes out, byte for byte; texts as UTF-8. */
  bytes: string | Uint8Array
  /** Say that nothing more will come, and keep reading. */
  halfClose?: boolean
  /** Enough has been read of an answer that does not end by itself. */
  until?: (text: string) => boolean
}

/** Milliseconds an answer may take. */
const patience = 60_000

/** Sends bytes over a connection of their own and reads one answer. @throws Error when none comes */
export function exchange(url: URL, { bytes, halfClose = false, until = () => false }: RawRequest): Promise<RawAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>()
  const socket = connect({ host: url.hostname, port: Number(url.port), allowHalfOpen: true })
  const hasBody = Buffer.from(bytes).toString('latin1', 0, 5) !== 'HEAD '
  let received = Buffer.alloc(0)
  const conclude = (closed: boolean) => {
    const answer = readAnswer(received, { closed, hasBody, until })
    if (answer) resolve(answer)
    else if (closed) reject(new Error(`The connection was closed after: ${received.toString('latin1').slice(0, 500)}`))
    if (answer || closed) socket.destroy()
  }
  const timer = setTimeout(() => {
    reject(new Error(`No complete answer after ${patience} ms: ${received.toString('latin1').slice(0, 500)}`))
    socket.destroy()
  }, patience)
  socket.on('close', () => clearTimeout(timer))
  socket.on('data', (chunk) => {
    received = Buffer.concat([received, chunk])
    conclude(false)
  })
  socket.on('end', () => conclude(true))
  // A server that refuses early closes while this side is still writing; what it said may have arrived all the same.
  socket.on('error', () => conclude(true))
  socket.write(bytes)
  if (halfClose) socket.end()
  return promise
}

type Reading = { closed: boolean; hasBody: boolean; until: (text: string) => boolean }

function readAnswer(received: Buffer, { closed, hasBody, until }: Reading): RawAnswer | undefined {
  const headEnd = received.indexOf('\r\n\r\n')
  if (headEnd === -1) return undefined
  const [statusLine = '', ...lines] = received.subarray(0, headEnd).toString('latin1').split('\r\n')
  const status = Number(/^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(statusLine)?.[1])
  const rest = received.subarray(headEnd + 4)
  if (status === 100) return readAnswer(rest, { closed, hasBody, until })
  const headers = new Headers(
    lines.map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon), line.slice(colon + 1).trim()] as [string, string]
    }),
  )
  const { body, complete } = readBody(rest, headers, hasBody && status !== 204 && status !== 304)
  const text = body.toString('utf8')
  return complete || closed || until(text) ? { status, headers, text } : undefined
}

function readBody(bytes: Buffer, headers: Headers, hasBody: boolean): { body: Buffer; complete: boolean } {
  if (!hasBody) return { body: Buffer.alloc(0), complete: true }
  if (headers.get('Transfer-Encoding') === 'chunked') return dechunk(bytes)
  const length = Number(headers.get('Content-Length') ?? Number.POSITIVE_INFINITY)
  return { body: bytes.subarray(0, length), complete: bytes.length >= length }
}

function dechunk(bytes: Buffer): { body: Buffer; complete: boolean } {
  const chunks: Buffer[] = []
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at)
    if (lineEnd === -1) return { body: Buffer.concat(chunks), complete: false }
    const size = Number.parseInt(bytes.subarray(at, lineEnd).toString('latin1'), 16)
    if (size === 0) return { body: Buffer.concat(chunks), complete: true }
    chunks.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size))
    at = lineEnd + 2 + size + 2
  }
}
