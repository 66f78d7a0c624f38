/** An answer that starts as JSON and becomes a stream if there is something to say before it. */
import { drainMicrotasks } from '../engine/drain-microtasks.ts'
import { eventFrame } from '../protocol/server-sent-events.ts'
import type { AcceptedTypes } from './accept.ts'
import { EventStream, eventStreamHeaders } from './event-stream.ts'
import type { Limits } from './limits.ts'

export type Answer = {
  status: number
  text: string
  /** Of the response, if the answer is all of it. */
  headers?: Readonly<Record<string, string>> | undefined
}

/** The way to the client while a call runs. */
export interface ResponseStream {
  signal(): AbortSignal
  /** Sends one message ahead of the answer; lost on a client that takes no stream, or reads too slowly. */
  send(message: string): void
}

/** Made once: a response copies them faster than it reads a list of them. */
const jsonHeaders = new Headers({ 'Content-Type': 'application/json' })

export function jsonResponse({ status, text, headers = {} }: Answer): Response {
  const response = new Response(text, { status, headers: jsonHeaders })
  for (const name in headers) response.headers.set(name, headers[name] as string)
  return response
}

/**
 * Runs a call and answers with one JSON body; with a stream as soon as it says something, or stays silent for longer
 * than proxies and clients wait. A client that closes its connection cancels the call.
 *
 * @param work must not throw: an error is an answer too
 */
export async function reply(
  request: Request,
  { json, stream: streams }: AcceptedTypes,
  limits: Limits,
  work: (stream: ResponseStream) => Promise<Answer>,
): Promise<Response> {
  let abort: AbortController | undefined
  /** Made when somebody wants to know: most calls are over before anything else could happen. */
  const disconnect = () => {
    if (abort) return abort
    abort = new AbortController()
    const cancel = () => abort?.abort()
    if (request.signal.aborted) cancel()
    else request.signal.addEventListener('abort', cancel, { once: true })
    return abort
  }
  let resume = () => {}
  let stream: EventStream | undefined
  const open = () => {
    stream ??= new EventStream({ ...limits, onGone: () => disconnect().abort() })
    resume()
    return stream
  }
  let streamTimer: ReturnType<typeof setTimeout> | null = null
  let answer: Answer | undefined

  const answered = work({
    signal: () => disconnect().signal,
    send(message) {
      if (streams && !disconnect().signal.aborted && open().hasRoom) stream?.send(eventFrame(message))
    },
  }).then((result) => {
    answer = result
    clearTimeout(streamTimer)
    // An error before the stream has a status of its own, also for a client that takes nothing but a stream.
    if (!json && result.status < 400) open()
    stream?.send(eventFrame(result.text))
    stream?.end()
    return result
  })
  await drainMicrotasks(() => answer !== undefined)
  if (!answer) {
    // From now on somebody may go before it ends.
    disconnect()
    if (streams) streamTimer = setTimeout(open, limits.streamAfterMs)
    if (!stream)
      await new Promise<void>((resolve) => {
        resume = resolve
        void answered.then(resume)
      })
  }
  if (answer && !stream) return jsonResponse(answer)
  return new Response(stream?.body, { headers: eventStreamHeaders })
}
