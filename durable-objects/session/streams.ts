/**
 * The streams that clients hold: hibernatable sockets, fed from the log. The Worker at the other end of a socket makes an
 * event stream of it. The standing stream sends what the scopes of its reader's token allow.
 */

import { BoundedMap } from '../../worker/protocol/bounded-map.ts'
import { eventNotification, type ServerEvent } from '../../worker/protocol/changes.ts'
import { notificationText } from '../../worker/protocol/jsonrpc.ts'
import { holdsScopes } from '../../worker/protocol/principal.ts'
import { closeCode, relayMessage } from '../../worker/protocol/relay-messages.ts'
import { eventFrame, primingFrame, retryFrame } from '../../worker/protocol/server-sent-events.ts'
import {
  type EventId,
  type EventLog,
  type EventOptions,
  eventIdText,
  readEventId,
  standingStream,
} from '../shared/event-log.ts'

import type { Reader, SessionValues } from './session-values.ts'

/** Milliseconds after which a client that lost its stream should come back. */
const retryAfterMs = 1000
/** Characters that are sent to a relay at once: what it cannot pass on waits in memory. */
const pageSize = 256 * 1024
/** Milliseconds that count as at once: clocks stand still within a turn. */
const turnMs = 100

type StreamOptions = {
  /** The connection of a client that this relay is for. */
  relay: string
  /** The client has not noticed that the relay before was lost. */
  again: boolean
  /** The client knows priming events. */
  polling: boolean
  /** The stream is the session. */
  overSse: boolean
}

export class SessionStreams {
  readonly #ctx: DurableObjectState
  readonly #log: EventLog
  readonly #values: SessionValues
  /** Scopes of the tokens that were admitted and have not opened their relay, by relay. */
  readonly #admitted = new BoundedMap<string, readonly string[]>({ maxEntries: 100 })
  /** Streams whose client was sent away before it had connected: it is to come back after so many milliseconds. */
  readonly #released = new Map<number, number>()
  #burst = { at: 0, sent: 0 }

  constructor(ctx: DurableObjectState, log: EventLog, values: SessionValues) {
    this.#ctx = ctx
    this.#log = log
    this.#values = values
  }

  /**
   * A token is about to open a stream: after an event, or the standing stream from now on. When it is the standing stream, erases the
   * status of tasks that the token lacks the scopes of. Until the stream is open, it gets only what the new reader and the one before may
   * read.
   *
   * @returns the scopes of the stream, if the token lacks one of them
   */
  admit(
    scopes: readonly string[],
    after: string | undefined,
    relay: string | undefined,
  ): readonly string[] | undefined {
    this.#log.deleteFinished(Date.now())
    const id = after === undefined ? undefined : readEventId(after)
    const lacks = id ? this.#log.scopesOf(id.stream) : []
    if (!holdsScopes(scopes, lacks)) return lacks
    if (relay !== undefined) this.#admitted.set(relay, scopes)
    if (!id || id.stream === standingStream) this.#restrictReader(scopes)
    return undefined
  }

  #restrictReader(scopes: readonly string[]): void {
    if (!holdsScopes(scopes, this.#taskScopes)) {
      this.#log.eraseScoped('task')
      this.#values.delete('taskScopes')
    }
    const reader = this.#reader
    if (!reader || holdsScopes(scopes, reader.scopes)) return
    this.#values.put('reader', { ...reader, scopes: reader.scopes.filter((scope) => scopes.includes(scope)) })
  }

  /** Writes down which scopes the token has that has opened the standing stream. One that dials again has those it had. */
  #setReader(relay: string): void {
    const reader = this.#reader
    const scopes = this.#admitted.get(relay) ?? (reader?.relay === relay ? reader.scopes : [])
    this.#admitted.delete(relay)
    if (scopes.length > 0) this.#values.put('reader', { relay, scopes })
    else if (reader) this.#values.delete('reader')
  }

  get #reader(): Reader | undefined {
    return this.#values.get('reader')
  }

  /** Scopes of the tasks whose status the standing stream has. */
  get #taskScopes(): string[] {
    return this.#values.get('taskScopes') ?? []
  }

  /** Whether the standing stream is open, and its reader may read what takes these scopes. */
  takes(scopes: readonly string[]): boolean {
    const isReadable = scopes.length === 0 || holdsScopes(this.#reader?.scopes, scopes)
    return isReadable && this.#log.find(standingStream) !== undefined
  }

  /**
   * Sends an event on the standing stream.
   *
   * @param taskScopes of the task whose status it is; empty when it takes none
   * @param isScopedResource it is about a resource that takes scopes
   */
  sendEvent(event: ServerEvent, taskScopes: readonly string[], isScopedResource: boolean): void {
    const scoped = taskScopes.length > 0 ? 'task' : isScopedResource ? 'resource' : undefined
    if (scoped === 'task') this.#values.put('taskScopes', [...new Set([...this.#taskScopes, ...taskScopes])])
    this.send(standingStream, notificationText(eventNotification(event)), { scoped })
  }

  /** Opens the standing stream from now on. */
  openStanding(options: StreamOptions): Response {
    const newest = this.#log.openStanding()
    this.#setReader(options.relay)
    return this.#open(newest, options)
  }

  /** Opens the stream of a POST from its beginning; 400 when its log does not keep it. */
  openPost(stream: number, options: StreamOptions): Response {
    const start = this.#log.onFrom({ stream, seq: 0 }, true)
    return start ? this.#open(start, options) : new Response(null, { status: 400 })
  }

  /** Sends a stream from after an event. This relay takes the place of the one before. */
  #open(start: EventId, { relay, again, polling, overSse }: StreamOptions): Response {
    const { stream } = start
    // A connection that rested, or was cut off, must not take the place of one that its client has opened since.
    if (again && this.#sockets(stream).some((socket) => attachmentOf(socket).relay !== relay)) {
      return new Response(null, { status: 409 })
    }
    for (const older of this.#sockets(stream)) older.close(closeCode.replaced)
    const { 0: client, 1: socket } = new WebSocketPair()
    this.#ctx.acceptWebSocket(socket, [tagOf(stream)])
    socket.serializeAttachment({ relay: relay, overSse } satisfies Attachment)
    if (polling) socket.send(relayMessage(primingFrame(eventIdText(start), retryAfterMs), eventIdText(start)))
    const released = this.#released.get(stream)
    this.#released.delete(stream)
    if (released !== undefined) sendAway(socket, released)
    else this.#catchUp(socket, start)
    const headers = { 'Last-Event-ID': eventIdText(start) }
    return new Response(null, { status: 101, webSocket: client, headers })
  }

  /**
   * Goes on after an event that was sent before.
   *
   * @returns `undefined` when what came after it is not known, or not any more; 405 when nothing did and nothing will
   */
  resume(after: string, options: StreamOptions): Response | undefined {
    this.#log.deleteFinished(Date.now())
    const id = readEventId(after)
    // A client that has not noticed the loss of its connection goes on without notifications that are not kept any more.
    const start = id && this.#log.onFrom(id, options.again)
    if (!start) return undefined
    const stream = this.#log.find(start.stream)
    if (stream?.over && stream.last === start.seq) return new Response(null, { status: 405 })
    this.#released.delete(start.stream)
    const resumed = this.#open(start, { ...options, polling: false })
    if (resumed.webSocket && start.stream === standingStream) this.#setReader(options.relay)
    return resumed
  }

  /**
   * Writes a notification to the log, then sends it, in one turn: what a client has seen is in the log.
   *
   * @param options see `EventLog.append`
   */
  send(stream: number, text: string, options?: EventOptions): void {
    const id = this.#log.append(stream, text, options)
    if (!id) return
    const sockets = this.#sockets(stream)
    const floods = sockets.length > 0 && this.#isFlooded(text.length)
    for (const socket of sockets) {
      if (floods) socket.close(closeCode.paused)
      else socket.send(messageOf(text, id))
    }
  }

  /** Does the same with a response or a request, which its client waits for. */
  sendMessage(stream: number, text: string): void {
    this.send(stream, text, { isMessage: true })
  }

  /** Everything has been said on this stream. */
  complete(stream: number): void {
    for (const socket of this.#sockets(stream)) socket.close(closeCode.complete)
  }

  completeAll(): void {
    this.#released.clear()
    for (const socket of this.#ctx.getWebSockets()) socket.close(closeCode.complete)
  }

  /** The connection ends, the stream does not: the client comes back for the rest after so many milliseconds. */
  release(stream: number, retry = retryAfterMs): void {
    const sockets = this.#sockets(stream)
    if (sockets.length === 0) this.#released.set(stream, retry)
    for (const socket of sockets) sendAway(socket, retry)
  }

  isOpen(stream: number): boolean {
    return this.#sockets(stream).length > 0
  }

  /** The relays of a stream that can still be written to. */
  #sockets(stream: number): WebSocket[] {
    return this.#ctx.getWebSockets(tagOf(stream)).filter((socket) => socket.readyState === WebSocket.OPEN)
  }

  /** Sends what has been missed, as much as may wait for a reader. */
  #catchUp(socket: WebSocket, start: EventId): void {
    let page = ''
    let last = start
    for (const { id, data } of this.#log.after(start)) {
      if (page.length > pageSize) {
        socket.send(relayMessage(page, eventIdText(last)))
        return socket.close(closeCode.paused)
      }
      page += eventFrame(data, eventIdText(id))
      last = id
    }
    if (page) socket.send(relayMessage(page, eventIdText(last)))
    if (this.#log.find(start.stream)?.over) socket.close(closeCode.complete)
  }

  /** Has so much just been sent that more would wait in this object's memory? */
  #isFlooded(characters: number): boolean {
    const now = Date.now()
    if (now - this.#burst.at > turnMs) this.#burst = { at: now, sent: 0 }
    const floods = this.#burst.sent > pageSize
    this.#burst.sent += characters
    return floods
  }
}

/** Was this socket opened as the stream of an HTTP+SSE session? */
export const isOverSse = (socket: WebSocket): boolean => attachmentOf(socket).overSse

type Attachment = Pick<StreamOptions, 'relay' | 'overSse'>

// `#open` attached it before it returned the other end of the socket.
const attachmentOf = (socket: WebSocket) => socket.deserializeAttachment() as Attachment

const tagOf = (stream: number) => `stream:${stream}`

const messageOf = (data: string, id: EventId) => relayMessage(eventFrame(data, eventIdText(id)), eventIdText(id))

function sendAway(socket: WebSocket, retry: number): void {
  socket.send(relayMessage(retryFrame(retry)))
  socket.close(closeCode.released)
}
