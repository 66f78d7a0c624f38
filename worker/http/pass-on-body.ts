/**
 * Passes on the body of a running stream. The platform copies its bytes without JavaScript, into the response and into memory. If the body
 * breaks, the bytes in memory show what the client has received.
 */

import { keepAlive, retryFrame } from '../protocol/server-sent-events.ts'
import { utf8 } from '../protocol/utf8.ts'
import { eventStreamHeaders } from './event-stream.ts'
import { continueStream, type RelayOptions } from './relay.ts'

/** Reads each byte as one character. */
const bytewise = new TextDecoder('latin1')

/** A relay continues when the object breaks the body off before the end of the stream, or is lost. */
export function passOnBody(options: RelayOptions, body: ReadableStream<Uint8Array>): Response {
  const { readable, writable } = new IdentityTransformStream()
  // It fails when the client has left.
  passOn(options, body, writable).catch(ignore)
  return new Response(readable, { headers: eventStreamHeaders })
}

async function passOn(
  options: RelayOptions,
  body: ReadableStream<Uint8Array>,
  writable: WritableStream<Uint8Array>,
): Promise<void> {
  const openedAt = performance.now()
  const [events, copy] = body.tee()
  try {
    await events.pipeTo(writable, { preventClose: true, preventAbort: true })
  } catch {
    return continueAfter(await readAll(copy), performance.now() - openedAt, options).pipeTo(writable)
  }
  await Promise.all([copy.cancel(), writable.close()])
}

/** Reads a copy until it breaks or ends. A client that has left does not end it: the object learns that when its Worker has ended. */
async function readAll(copy: ReadableStream<Uint8Array>): Promise<string> {
  let bytes = ''
  try {
    for await (const part of copy) bytes += bytewise.decode(part)
  } catch {
    // What came before was read.
  }
  return bytes
}

/** Returns the rest of a stream of which the client has the start. @param ageMs milliseconds since the stream was opened */
function continueAfter(start: string, ageMs: number, options: RelayOptions): ReadableStream<Uint8Array> {
  const { lastId, cut } = positionIn(start)
  const { maxStreamAgeMs = Number.POSITIVE_INFINITY } = options
  const leftMs = maxStreamAgeMs - ageMs
  // Its client has read nothing until after the maximum age. It discards an event that was cut.
  if (leftMs <= 0 && lastId !== undefined) return new Blob(cut ? [] : [retryFrame()]).stream()
  // A comment: the object has sent none since it broke the body off. One that was cut ends with a line break.
  const firstFrame = cut.startsWith(':') ? '\n\n' : keepAlive
  const rest = continueStream({ ...options, maxStreamAgeMs: leftMs, firstFrame }, lastId)
  return cut === '' || cut.startsWith(':') ? rest : rest.pipeThrough(withoutStart(cut))
}

/** Returns the last event id, and what follows the last whole event. No event has an empty line in it. */
export function positionIn(start: string): { lastId: string | undefined; cut: string } {
  const end = start.lastIndexOf('\n\n')
  const whole = end < 0 ? '' : `\n${start.slice(0, end)}\n`
  const id = whole.lastIndexOf('\nid: ')
  return {
    lastId: id < 0 ? undefined : whole.slice(id + 5, whole.indexOf('\n', id + 5)),
    cut: end < 0 ? start : start.slice(end + 2),
  }
}

/**
 * Leaves out the start of the next event, which the client has, in as many parts as it comes. A comment before it would become a part of it.
 */
function withoutStart(start: string): TransformStream<Uint8Array, Uint8Array> {
  let left = start
  return new TransformStream({
    transform(frames, controller) {
      const known = bytewise.decode(frames.subarray(0, left.length))
      if (left.startsWith(known)) {
        left = left.slice(known.length)
        return controller.enqueue(frames.subarray(known.length))
      }
      if (known.startsWith(':')) return
      // The event was deleted since: what its client has of it becomes an event of a type that clients ignore, and its id stays their
      // position: the log continues after a deleted event, not before it. An event that lacks only its empty line becomes whole.
      controller.enqueue(utf8('\nevent: -\n\n'))
      controller.enqueue(frames)
      left = ''
    },
  })
}

const ignore = () => {}
