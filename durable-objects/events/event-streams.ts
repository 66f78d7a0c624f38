/** The streams of clients that read the log of an event: hibernatable sockets, whose Workers hold the connections. */
import { paused } from '../../worker/protocol/close-code.ts'
import { relayMessage } from '../../worker/protocol/relay-messages.ts'
import { type EventLog, microsecondsPerMs } from './event-log.ts'
import type { EventsHost } from './events-host.ts'
import type { LogPage, Reader, StreamMessage, StreamRequest } from './rpc.ts'
import type { Turns } from './turns.ts'

/** `after`: the position up to which a stream was read. `known`: the one that its client knows. */
type Attachment = Reader & { readonly after: number; readonly known: number }

/** The header of the request that opens a stream. */
export const streamHeader = 'Edgemcp-Stream'

/** Events that are read for a stream at a time. */
const pageEvents = 100
/** Milliseconds of the log after which a stream without events learns its position, if the log is not short. */
const positionStepMs = 60_000

export class EventStreams {
  readonly #ctx: DurableObjectState
  readonly #log: EventLog
  readonly #host: EventsHost
  readonly #turns: Turns
  /** Sockets for which there may be events. */
  readonly #waiting = new Set<WebSocket>()

  constructor(ctx: DurableObjectState, log: EventLog, turns: Turns, host: EventsHost) {
    this.#ctx = ctx
    this.#log = log
    this.#turns = turns
    this.#host = host
  }

  /** Opens a stream. @returns status 429 when there are too many */
  open(request: Request): Response {
    const { reader, after, maxAgeMs, listener, isResumed }: StreamRequest = JSON.parse(
      decodeURIComponent(request.headers.get(streamHeader) ?? ''),
    )
    const { streams, streamsEach } = this.#host.limits
    const isFull = (most: number, tag?: string) => this.#ctx.getWebSockets(tag).length >= most
    // One that its Worker continues has its place, and its socket of before may not have ended yet.
    if (!isResumed && (isFull(streams) || (listener !== '' && isFull(streamsEach, listener))))
      return new Response(null, { status: 429 })
    const { position, isTruncated } =
      after === null
        ? { position: this.#log.headFor(reader), isTruncated: false }
        : this.#log.positionAfter(after, reader, maxAgeMs)
    const { 0: client, 1: socket } = new WebSocketPair()
    const attachment: Attachment = { ...reader, after: position, known: position }
    // It throws for one that is too large: a socket that was accepted would take a place.
    socket.serializeAttachment(attachment)
    this.#ctx.acceptWebSocket(socket, listener === '' ? [] : [listener])
    if (!isResumed || isTruncated) send(socket, position, isTruncated ? { kind: 'gap' } : { kind: 'active' })
    this.#send(socket, listener)
    return new Response(null, { status: 101, webSocket: client })
  }

  /** Sends what was published. */
  wake(): void {
    for (const socket of this.#ctx.getWebSockets()) this.#send(socket, this.#ctx.getTags(socket)[0] ?? '')
  }

  /** Sends a page in its turn. @param listener see `StreamRequest` */
  #send(socket: WebSocket, listener: string): void {
    if (this.#waiting.has(socket)) return
    this.#waiting.add(socket)
    const sent = this.#turns.take(listener, () => {
      this.#waiting.delete(socket)
      return socket.readyState === WebSocket.OPEN ? this.#sendPage(socket) : { characters: 0 }
    })
    sent.catch((problem) => {
      this.#host.report(problem)
      // Its Worker connects again.
      socket.close(paused)
    })
  }

  #sendPage(socket: WebSocket): Pick<LogPage, 'characters'> {
    // `open` attached it.
    const attachment: Attachment = socket.deserializeAttachment()
    const page = this.#log.readOn(attachment.after, { ...attachment, limit: pageEvents })
    const { events, start, position, characters, isTruncated, hasMore } = page
    if (isTruncated) send(socket, start, { kind: 'gap' })
    for (const event of events) send(socket, event.position, { kind: 'event', body: event.body })
    const known = events.at(-1)?.position ?? (isTruncated ? start : attachment.known)
    // The Worker that connects again continues from there, also after a page without events.
    // The cursor of a stream must not become older than the log.
    const step = Math.min(positionStepMs, this.#host.limits.logMs / 8) * microsecondsPerMs
    const isUnknown = position - known >= (hasMore ? 1 : step)
    if (isUnknown) send(socket, position, { kind: 'position' })
    socket.serializeAttachment({ ...attachment, after: position, known: isUnknown ? position : known })
    // What a client has not read would fill the memory of the object: the Worker connects again when there is room.
    if (hasMore) socket.close(paused)
    return { characters }
  }
}

function send(socket: WebSocket, position: number, message: StreamMessage): void {
  socket.send(relayMessage(JSON.stringify([position, message]), String(position)))
}
