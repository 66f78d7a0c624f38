/**
 * A Durable Object's socket as an event stream. The Worker holds the client's connection and keeps it alive; the object
 * may sleep behind its hibernatable socket. When the object is lost, the feed dials again with the last event's id.
 */
import { EventStream, type EventStreamOptions, eventStreamHeaders } from './event-stream.ts'
import { clientGone, feedClosed, feedRests, readFeedMessage } from './feed-codes.ts'

const closings = new Set<number>(Object.values(feedClosed))
const mostDials = 6
/** The close code for a message of another format: the two ends run different releases, so the client has to come back. */
const unreadable = 4004

export type FeedOptions = Omit<EventStreamOptions, 'onGone' | 'onRoom'> & {
  /**
   * Opens the socket, from after an event id when one is known. The header `Last-Event-ID` of a socket's response is
   * where it starts; one without it starts anywhere, so its stream ends when its reader is slow.
   *
   * @param again for a client that had a socket before and has not noticed its loss
   */
  dial(after: string | undefined, again: boolean): Promise<Response>
  /** The object has to hear of the client's going even if it has no socket at the time. */
  farewell?: boolean
  /** Turns the payload of a message into a frame; without it, each payload is frames already. */
  frame?(payload: string): string
  /** Sent before anything else, once the object listens. */
  greeting?: string
  /** Sent last, when it is not the reader who goes. */
  parting?: string
}

/** An event stream, or the object's refusal. */
export async function openFeed(
  { dial, farewell, frame, greeting, parting, ...options }: FeedOptions,
  after?: string,
): Promise<Response> {
  let lastId = after
  let socket: WebSocket | undefined
  let gone = false
  let rests = false
  const first = await dialUntilAnswered(false)
  if (!first.webSocket) return first
  const stream = new EventStream({
    ...options,
    onGone: leave,
    onRoom() {
      if (!rests) return
      rests = false
      redial()
    },
  })
  if (greeting !== undefined) stream.send(greeting)
  attach(first.webSocket, first)
  return new Response(stream.body, { headers: eventStreamHeaders })

  function end(): void {
    if (parting !== undefined) stream.send(parting)
    stream.end()
  }

  function leave(): void {
    gone = true
    if (rests) {
      rests = false
      if (farewell) redial()
    } else socket?.close(clientGone)
  }

  function attach(dialled: WebSocket, { headers }: Response): void {
    socket = dialled
    lastId ??= headers.get('Last-Event-ID') ?? undefined
    let over = false
    const lost = (code: number) => {
      if (over) return
      over = true
      if (closings.has(code)) end()
      else if (code === feedRests && !stream.hasRoom) rests = true
      else if (!gone) redial()
    }
    dialled.addEventListener('message', ({ data }) => {
      if (over) return
      const message = readFeedMessage(data)
      if (!message) {
        over = true
        dialled.close(unreadable)
        return end()
      }
      lastId = message.id ?? lastId
      stream.send(frame ? frame(message.payload) : message.payload)
      if (stream.hasRoom) return
      // The rest is in the log; here it would fill the memory that all requests share.
      over = true
      rests = lastId !== undefined
      if (rests) return dialled.close(feedRests)
      stream.end()
      leave()
    })
    dialled.addEventListener('close', ({ code }) => lost(code))
    dialled.addEventListener('error', () => lost(1006))
    dialled.accept()
  }

  async function redial(): Promise<void> {
    try {
      const next = await dialUntilAnswered(true)
      // The object answers, but has nothing more for this stream.
      if (!next.webSocket) return end()
      attach(next.webSocket, next)
      if (gone) leave()
    } catch {
      end()
    }
  }

  /** An object that was lost comes back soon. @throws what the last dial threw */
  async function dialUntilAnswered(again: boolean): Promise<Response> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await dial(lastId, again)
      } catch (problem) {
        if (gone || attempt === mostDials) throw problem
      }
      await new Promise((resolve) => setTimeout(resolve, 50 * 2 ** attempt))
    }
  }
}
