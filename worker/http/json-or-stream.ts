import { drainMicrotasks } from '../engine/drain-microtasks.ts'
import { eventFrame } from '../protocol/server-sent-events.ts'
import type { AcceptedTypes } from './accept.ts'
import type { CallMessages } from './call-messages.ts'
import { EventStream, eventStreamHeaders } from './event-stream.ts'
import { type HttpAnswer, jsonResponse } from './json-response.ts'
import type { Limits } from './limits.ts'

/**
 * Answers with one JSON body. The response becomes an event stream if a message comes before the result, or if the result takes longer than
 * `limits.streamAfterMs`. Messages before the result are dropped for a client that accepts no stream or reads too slowly.
 *
 * @param messages end with the result
 */
export async function jsonOrStream(messages: CallMessages, accept: AcceptedTypes, limits: Limits): Promise<Response> {
  await drainMicrotasks(messages.ended)
  const { onlyAnswer } = messages
  // An error without a stream has an HTTP status of its own, also for a client that accepts streams only.
  if (onlyAnswer && (accept.json || onlyAnswer.status >= 400)) return jsonResponse(onlyAnswer)
  return forwardMessages(messages, accept, limits)
}

async function forwardMessages(messages: CallMessages, accept: AcceptedTypes, limits: Limits): Promise<Response> {
  let answer: HttpAnswer | undefined
  let stream: EventStream | undefined
  let streamTimer: ReturnType<typeof setTimeout> | null = null
  let onStream = () => {}
  const answered = forward()
  await drainMicrotasks(answered)
  if (!answer) {
    // From now on the client can go before the answer comes: reading the signal watches its connection.
    void messages.signal
    if (accept.stream) streamTimer = setTimeout(openStream, limits.streamAfterMs)
    if (!stream) await Promise.race([answered, new Promise<void>((resolve) => (onStream = resolve))])
  }
  if (answer && !stream) return jsonResponse(answer)
  return new Response(stream?.body, { headers: eventStreamHeaders })

  /** Sends each message as it comes, and the result. */
  async function forward(): Promise<void> {
    for (;;) {
      const { done, value } = await messages.next()
      if (done) return end(value)
      if (accept.stream && !messages.signal.aborted && openStream().hasRoom) stream?.send(eventFrame(value))
    }
  }

  function end(last: HttpAnswer): void {
    answer = last
    clearTimeout(streamTimer)
    // An error without a stream has an HTTP status of its own, also for a client that accepts streams only.
    if (!accept.json && last.status < 400) openStream()
    stream?.send(eventFrame(last.text))
    stream?.end()
  }

  function openStream(): EventStream {
    stream ??= new EventStream({ ...limits, onGone: () => messages.abort() })
    onStream()
    return stream
  }
}
