/** The streams of clients that read the log of an event: hibernatable sockets, whose Workers hold the connections. */
import { paused } from '../../worker/protocol/close-code.ts'
import { relayMessage } from '../../worker/protocol/relay-messages.ts'
import { type EventLog, maxPageCharacters, microsecondsPerMs } from './event-log.ts'
import type { EventsHost } from './events-host.ts'
import type { Reader, StreamMessage, StreamRequest } from './rpc.ts'

/** `after`: the position up to which a stream was read. `known`: the one that its client knows. */
type Attachment = Reader & { readonly after: number; readonly known: number }

/** The header of the request that opens a stream. */
export const streamHeader = 'Edgemcp-Stream'

/** Events that are read for a stream at a time. */
const pageEvents = 100
/** What it takes to read a page without events, as characters that are read in that time. */
const emptyPageCharacters = 2500
/** Milliseconds of the log after which a stream without events learns its position, if the log is not short. */
const positionStepMs = 60_000

export class EventStreams {
  readonly #ctx: DurableObjectState
  readonly #log: EventLog
  readonly #host: EventsHost
  /** Sockets for which there may be events, in the order in which they are read for them. */
  readonly #waiting = new Set<WebSocket>()
  #isSending = false

  constructor(ctx: DurableObjectState, log: EventLog, host: EventsHost) {
    this.#ctx = ctx
    this.#log = log
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
      after === null ? { position: this.#log.head, isTruncated: false } : this.#log.positionAfter(after, maxAgeMs)
    const { 0: client, 1: socket } = new WebSocketPair()
    const attachment: Attachment = { ...reader, after: position, known: position }
    // It throws for one that is too large: a socket that was accepted would take a place.
    socket.serializeAttachment(attachment)
    this.#ctx.acceptWebSocket(socket, listener === '' ? [] : [listener])
    if (!isResumed || isTruncated) send(socket, position, isTruncated ? { kind: 'gap' } : { kind: 'active' })
    this.#waiting.add(socket)
    void this.#sendAll()
    return new Response(null, { status: 101, webSocket: client })
  }

  /** Sends what was published. */
  wake(): void {
    for (const socket of this.#ctx.getWebSockets()) this.#waiting.add(socket)
    void this.#sendAll()
  }

  /** Sends one page to each socket that waits, and lets other requests of the object go on after as much as a page has. */
  async #sendAll(): Promise<void> {
    if (this.#isSending) return
    this.#isSending = true
    let characters = maxPageCharacters
    // One that begins to wait meanwhile comes last.
    for (const socket of this.#waiting) {
      if (characters >= maxPageCharacters) {
        await yieldOnce()
        characters = 0
      }
      this.#waiting.delete(socket)
      characters += emptyPageCharacters + this.#sendTo(socket)
    }
    this.#isSending = false
  }

  /** Returns the characters that were read. */
  #sendTo(socket: WebSocket): number {
    if (socket.readyState !== WebSocket.OPEN) return 0
    try {
      return this.#sendPage(socket)
    } catch (problem) {
      this.#host.report(problem)
      // Its Worker connects again.
      socket.close(paused)
      return 0
    }
  }

  #sendPage(socket: WebSocket): number {
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
    return characters
  }
}

const yieldOnce = (): Promise<void> => new Promise((resolve) => void setTimeout(resolve, 0))

function send(socket: WebSocket, position: number, message: StreamMessage): void {
  socket.send(relayMessage(JSON.stringify([position, message]), String(position)))
}
