/** An answer that starts as JSON and becomes a stream if there is something to say before it. */
import type { Accepts } from './accept.ts'
import { EventStream, eventFrame, eventStreamHeaders } from './event-stream.ts'
import type { Limits } from './limits.ts'

export type Answer = { status: number; text: string }

/** The way to the client while a call runs. */
export interface Line {
  readonly signal: AbortSignal
  /** Sends one message ahead of the answer; lost on a client that takes no stream, or reads too slowly. */
  say(message: string): void
}

export const jsonResponse = ({ status, text }: Answer, headers: Record<string, string> = {}): Response =>
  new Response(text, { status, headers: { 'Content-Type': 'application/json', ...headers } })

/**
 * Runs a call and answers with one JSON body; with a stream as soon as it says something, or stays silent for longer
 * than proxies and clients wait. A client that closes its connection cancels the call.
 *
 * @param work must not throw: an error is an answer too
 */
export async function reply(
  request: Request,
  { json, stream: streams }: Accepts,
  limits: Limits,
  work: (line: Line) => Promise<Answer>,
): Promise<Response> {
  const abort = new AbortController()
  request.signal.addEventListener('abort', () => abort.abort(), { once: true })
  const { promise: opened, resolve } = Promise.withResolvers<undefined>()
  let stream: EventStream | undefined
  const open = () => {
    stream ??= new EventStream({ ...limits, onGone: () => abort.abort() })
    resolve(undefined)
    return stream
  }
  if (!json) open()
  const patience = streams ? setTimeout(open, limits.patience) : null

  const answered = work({
    signal: abort.signal,
    say(message) {
      if (streams && !abort.signal.aborted && open().hasRoom) stream?.send(eventFrame(message))
    },
  }).then((answer) => {
    clearTimeout(patience)
    stream?.send(eventFrame(answer.text))
    stream?.end()
    return answer
  })
  const answer = await Promise.race([answered, opened])
  if (answer && !stream) return jsonResponse(answer)
  return new Response(stream?.body, { headers: eventStreamHeaders })
}
