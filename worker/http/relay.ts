/**
 * A Durable Object's socket as an event stream. The Worker holds the client's connection and keeps it alive; the object
 * may sleep behind its hibernatable socket. When the object is lost, the relay dials again with the last event's id.
 */

import { closeCode, readRelayMessage } from '../protocol/relay-messages.ts'
import { EventStream, type EventStreamOptions, eventStreamHeaders } from './event-stream.ts'

const finalCodes = new Set<number>([closeCode.complete, closeCode.released, closeCode.replaced])
const maxDials = 6
/** The close code for a message of another format: the two ends run different releases, so the client has to come back. */
const unreadable = 4004

export type RelayOptions = Omit<EventStreamOptions, 'onGone' | 'onRoom'> & {
  /**
   * Opens the socket, from after an event id when one is known. The header `Last-Event-ID` of a socket's response is
   * where it starts; one without it starts anywhere, so its stream ends when its reader is slow.
   *
   * @param again for a client that had a socket before and has not noticed its loss
   */
  dial(after: string | undefined, again: boolean): Promise<Response>
  /** The object has to hear of the client's going even if it has no socket at the time. */
  notifyOnClose?: boolean
  /** Turns the payload of a message into a frame; without it, each payload is frames already. */
  frame?(payload: string): string
  /** Sent before anything else, once the object listens. */
  firstFrame?: string
  /** Sent last, when it is not the reader who goes. */
  lastFrame?: string
}

/** An event stream, or the object's refusal. */
export async function openRelay(
  { dial, notifyOnClose: farewell, frame, firstFrame: greeting, lastFrame: parting, ...options }: RelayOptions,
  after?: string,
): Promise<Response> {
  let lastId = after
  let socket: WebSocket | undefined
  let isClientGone = false
  let isPaused = false
  const initialResponse = await dialUntilAnswered(false)
  if (!initialResponse.webSocket) return initialResponse
  const stream = new EventStream({
    ...options,
    onGone: leave,
    onRoom() {
      if (!isPaused) return
      isPaused = false
      redial()
    },
  })
  if (greeting !== undefined) stream.send(greeting)
  attach(initialResponse.webSocket, initialResponse)
  return new Response(stream.body, { headers: eventStreamHeaders })

  function end(): void {
    if (parting !== undefined) stream.send(parting)
    stream.end()
  }

  function leave(): void {
    isClientGone = true
    if (isPaused) {
      isPaused = false
      if (farewell) redial()
    } else socket?.close(closeCode.clientGone)
  }

  function attach(dialled: WebSocket, { headers }: Response): void {
    socket = dialled
    lastId ??= headers.get('Last-Event-ID') ?? undefined
    let isClosed = false
    const onClose = (code: number) => {
      if (isClosed) return
      isClosed = true
      if (finalCodes.has(code)) end()
      else if (code === closeCode.paused && !stream.hasRoom) isPaused = true
      else if (!isClientGone) redial()
    }
    dialled.addEventListener('message', ({ data }) => {
      if (isClosed) return
      const message = readRelayMessage(data)
      if (!message) {
        isClosed = true
        dialled.close(unreadable)
        return end()
      }
      lastId = message.id ?? lastId
      stream.send(frame ? frame(message.payload) : message.payload)
      if (stream.hasRoom) return
      // The rest is in the log; here it would fill the memory that all requests share.
      isClosed = true
      isPaused = lastId !== undefined
      if (isPaused) return dialled.close(closeCode.paused)
      stream.end()
      leave()
    })
    dialled.addEventListener('close', ({ code }) => onClose(code))
    dialled.addEventListener('error', () => onClose(1006))
    dialled.accept()
  }

  async function redial(): Promise<void> {
    try {
      const next = await dialUntilAnswered(true)
      // The object answers, but has nothing more for this stream.
      if (!next.webSocket) return end()
      attach(next.webSocket, next)
      if (isClientGone) leave()
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
        if (isClientGone || attempt === maxDials) throw problem
      }
      await new Promise((resolve) => setTimeout(resolve, 50 * 2 ** attempt))
    }
  }
}
