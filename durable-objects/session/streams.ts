/**
 * The streams of a session: events are appended to the log, and sent to hibernatable sockets. The Worker at the other end of a socket turns
 * them into an event stream. While the calls of a stream run, its events are the body of the response to their POST, see `new-streams.ts`.
 *
 * The stream of a call requires the scopes of that call. The standing stream (GET) sends only what the scopes of its reader's token allow.
 */

import { drainMicrotasks } from '../../worker/engine/drain-microtasks.ts'
import { BoundedMap } from '../../worker/protocol/bounded-map.ts'
import * as closeCode from '../../worker/protocol/close-code.ts'
import { holdsScopes } from '../../worker/protocol/principal.ts'
import { firstRelay, relayMessage } from '../../worker/protocol/relay-messages.ts'
import { eventFrame, primingFrame, reconnectAfterMs, retryFrame } from '../../worker/protocol/server-sent-events.ts'
import type { CallLedger } from '../shared/call-ledger.ts'
import {
  type EventId,
  type EventLog,
  type EventOptions,
  eventIdText,
  readEventId,
  standingStream,
} from '../shared/event-log.ts'
import { type NewStream, NewStreams } from './new-streams.ts'
import type { Reader, SessionValues } from './session-values.ts'
import { StreamBody } from './stream-body.ts'

/** Characters that are sent to a relay at once. What the relay cannot forward waits in its memory. */
const pageSize = 256 * 1024
/** Milliseconds that count as one turn: clocks do not move within a turn. */
const turnMs = 100

type StreamOptions = {
  /** Names the connection of the client that the relay is for. */
  relay: string
  /** Whether the relay replaces one that was lost without the client's notice. */
  again: boolean
  /** Whether to begin with an event that has an id and no data: the client understands it, and has no event id of this connection. */
  primes: boolean
  /** Whether the stream is that of an HTTP+SSE session, which ends with it. */
  overSse: boolean
}

export class SessionStreams {
  readonly #ctx: DurableObjectState
  readonly #values: SessionValues
  readonly #log: EventLog
  readonly #ledger: CallLedger
  readonly #new: NewStreams
  /**
   * Streams that were released while they had no relay: the last event before, which the next relay gets, and milliseconds after which the
   * client should reconnect.
   */
  readonly #released = new Map<number, { readonly last: number; readonly retry: number }>()
  /** Events of this turn, by stream. */
  readonly #unsent = new Map<number, { readonly frames: string; readonly last: string }>()
  /** By relay: scopes of admitted tokens that have not opened their relay. */
  readonly #admitted = new BoundedMap<string, readonly string[]>({ maxEntries: 100 })
  #burst = { at: 0, sent: 0 }

  /** @param keepAliveMs see `Limits` */
  constructor(ctx: DurableObjectState, values: SessionValues, log: EventLog, ledger: CallLedger, keepAliveMs: number) {
    this.#new = new NewStreams(keepAliveMs)
    this.#ctx = ctx
    this.#log = log
    this.#ledger = ledger
    this.#values = values
  }

  /** Begins the stream of a POST. Returns its id. @param scopes that a token needs to resume it */
  begin(unanswered: number, scopes: readonly string[]): number {
    const stream = this.#log.open(unanswered, Date.now(), scopes)
    this.#new.begin(stream)
    return stream
  }

  /** See `NewStreams.respond`. */
  respond(...params: Parameters<NewStreams['respond']>): ReturnType<NewStreams['respond']> {
    // The body gets only what is sent afterwards.
    this.flush()
    return this.#new.respond(...params)
  }

  /** Called when a call of a stream does not run any more. @param isRunning whether another one of the stream does */
  parkUnlessRunning(stream: number, isRunning: () => boolean): void {
    this.#new.parkUnlessRunning(stream, isRunning)
  }

  /** Whether a Worker reads the body of a stream. */
  isRead(stream: number): boolean {
    return this.#new.bodyOf(stream)?.isRead === true
  }

  /**
   * Admits a token that is about to open a stream: after an event, or the standing stream from the next event. For the standing stream,
   * erases the status of tasks whose scopes the token lacks. Until the stream is open, it receives only what both the new and the previous
   * reader may read.
   *
   * @returns the scopes of the stream, if the token lacks one of them
   */
  admit(scopes: readonly string[], after: string | undefined, relay: string): readonly string[] | undefined {
    this.#log.deleteFinished(Date.now())
    const id = after === undefined ? undefined : readEventId(after)
    const lacks = id ? this.#log.scopesOf(id.stream) : []
    if (!holdsScopes(scopes, lacks)) return lacks
    this.#admitted.set(relay, scopes)
    if (!id || id.stream === standingStream) this.#restrictReader(scopes)
    return undefined
  }

  /**
   * Whether the token of a relay may open a stream. The instance that admitted it may be lost, and the stream may have got scopes since: an id
   * of a call that began later, or a subscription of another reader.
   *
   * @param after see `admit`
   */
  isAdmitted(relay: string, after: string | undefined): boolean {
    const reader = this.#reader
    const scopes = this.#admitted.get(relay) ?? (reader?.relay === relay ? reader.scopes : undefined)
    return scopes !== undefined && holdsScopes(scopes, this.#scopesFrom(after))
  }

  #scopesFrom(after: string | undefined): readonly string[] {
    const id = after === undefined ? undefined : readEventId(after)
    if (id && id.stream !== standingStream) return this.#log.scopesOf(id.stream)
    return [...(this.#values.get('taskScopes') ?? []), ...(this.#values.get('subscribedScopes') ?? [])]
  }

  #restrictReader(scopes: readonly string[]): void {
    // The scopes of the tasks whose status the stream contains.
    if (!holdsScopes(scopes, this.#values.get('taskScopes') ?? [])) {
      this.#log.eraseScoped('task')
      this.#values.delete('taskScopes')
    }
    const reader = this.#reader
    if (!reader || holdsScopes(scopes, reader.scopes)) return
    this.#values.put('reader', { ...reader, scopes: reader.scopes.filter((scope) => scopes.includes(scope)) })
  }

  /** Stores the scopes of the token that opened the standing stream. A relay that reconnects keeps those it had. */
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

  /** Opens the standing stream from the next event. */
  openStanding(options: StreamOptions): Response {
    const newest = this.#log.openStanding()
    this.#setReader(options.relay)
    return this.#open(newest, options)
  }

  /** Opens the stream of a POST from its start; 400 if the log no longer contains it. */
  openPost(stream: number, options: StreamOptions): Response {
    const started = this.#new.take(stream)
    if (started) return this.#open({ stream, seq: 0 }, options, started)
    const start = this.#log.onFrom({ stream, seq: 0 }, true)
    return start ? this.#open(start, options) : new Response(null, { status: 400 })
  }

  /**
   * Sends a stream from after an event. This relay replaces the previous one.
   *
   * @param started all events after it, if this instance has them in memory
   */
  #open(start: EventId, { relay, again, primes, overSse }: StreamOptions, started?: NewStream): Response {
    const { stream } = start
    this.flush()
    // A paused or lost connection must not replace one that its client has opened since.
    if (again && this.#readers(stream).some((reader) => !isOf(reader, relay))) {
      return new Response(null, { status: 409 })
    }
    for (const older of this.#readers(stream)) older.close(closeCode.replaced)
    const { 0: client, 1: socket } = new WebSocketPair()
    this.#ctx.acceptWebSocket(socket, [tagOf(stream)])
    socket.serializeAttachment({ relay: relay, overSse } satisfies Attachment)
    if (primes) socket.send(relayMessage(primingFrame(eventIdText(start)), eventIdText(start)))
    if (started) sendStarted(socket, started)
    else this.#catchUp(socket, start)
    const headers = { 'Last-Event-ID': eventIdText(start) }
    return new Response(null, { status: 101, webSocket: client, headers })
  }

  /**
   * Continues after an event that was sent before.
   *
   * @returns `undefined` when the events after it are unknown or deleted; 405 when there are none and never will be
   */
  resume(after: string, options: StreamOptions): Response | undefined {
    this.#log.deleteFinished(Date.now())
    const id = readEventId(after)
    // A client that has not noticed the loss of its connection continues without notifications that were deleted.
    const start = id && this.#log.onFrom(id, options.again)
    if (!start) return undefined
    const stream = this.#log.find(start.stream)
    if (stream?.over && stream.last === start.seq) return new Response(null, { status: 405 })
    // A client that is to come back has not noticed it yet while its Worker opens another relay.
    if (!options.again) this.#released.delete(start.stream)
    const resumed = this.#open(start, options)
    if (resumed.webSocket && start.stream === standingStream) this.#setReader(options.relay)
    return resumed
  }

  /**
   * Appends a notification to the log, and sends it once it is written, with the others of this turn: the log contains each event that a
   * client has received.
   *
   * @param options see `EventLog.append`
   */
  send(stream: number, text: string, options?: EventOptions): void {
    const appended = this.#log.append(stream, text, options)
    if (!appended) return
    const id = eventIdText(appended)
    const unsent = this.#unsent.get(stream)
    const frame = eventFrame(text, id)
    const frames = (unsent?.frames ?? '') + frame
    this.#new.append(stream, frame, appended)
    this.#unsent.set(stream, { frames, last: id })
    if (this.#unsent.size === 1 && !unsent) this.flushSoon()
    if (frames.length > pageSize) this.flush()
  }

  /** Flushes at the end of this turn. */
  flushSoon(): void {
    drainMicrotasks()
      .then(() => this.flush())
      // The storage has reported what it throws.
      .catch(() => {})
  }

  /**
   * Writes the calls, streams and events of this turn to storage, then sends the events. If they cannot be written, this instance ends, see
   * `guarded.ts`: a client must not receive an event that is not in the log, nor wait for one that never comes.
   *
   * @param ended a stream whose events of this turn are its last. Default: none
   */
  flush(ended?: number): void {
    this.#ledger.write()
    this.#log.write()
    this.#sendUnsent(ended)
  }

  #sendUnsent(ended: number | undefined): void {
    for (const [stream, { frames, last }] of this.#unsent) {
      this.#unsent.delete(stream)
      const readers = this.#readers(stream)
      const floods = readers.length > 0 && this.#isFlooded(frames.length)
      for (const reader of readers) {
        if (floods) reader.close(closeCode.paused)
        else if (!(reader instanceof StreamBody)) reader.send(relayMessage(frames, last))
        else if (stream === ended) reader.end(frames)
        else reader.send(frames)
      }
    }
  }

  /** Appends and sends a response or a request, which its client waits for. */
  sendMessage(stream: number, text: string): void {
    this.send(stream, text, { isMessage: true })
  }

  /**
   * Records that a request of a stream has its reply, or will never have one. The last one ends the stream.
   *
   * @returns true if the stream has ended
   */
  requestAnswered(stream: number, now: number): boolean {
    if (stream === standingStream || !this.#log.requestAnswered(stream, now)) return false
    this.flush(stream)
    this.#new.end(stream)
    for (const reader of this.#readers(stream)) reader.close(closeCode.complete)
    return true
  }

  /** Ends every stream, also if the last events cannot be written. */
  completeAll(): void {
    try {
      this.flush()
    } finally {
      this.#unsent.clear()
      this.#released.clear()
      this.#new.completeAll()
      for (const socket of this.#ctx.getWebSockets()) socket.close(closeCode.complete)
    }
  }

  /** Closes the connection of a stream that continues: the client reconnects for the remaining events after `retry` milliseconds. */
  release(stream: number, retry = reconnectAfterMs): void {
    this.flush()
    this.#new.delete(stream)
    const readers = this.#readers(stream)
    // The relay ends where the handler first asked for it.
    if (readers.length === 0 && !this.#released.has(stream)) {
      this.#released.set(stream, { last: this.#log.find(stream)?.last ?? 0, retry })
    }
    for (const reader of readers) sendAway(reader, retry)
  }

  /** Whether the standing stream has been opened. */
  get hasStanding(): boolean {
    return this.#log.find(standingStream) !== undefined
  }

  /** Whether a stream has a relay, or a Worker reads its body. */
  isOpen(stream: number): boolean {
    return this.isRead(stream) || this.#sockets(stream).length > 0
  }

  /** Returns the body of a stream, or its relays. */
  #readers(stream: number): (WebSocket | StreamBody)[] {
    const body = this.#new.bodyOf(stream)
    return body ? [body] : this.#sockets(stream)
  }

  /** Returns the relays of a stream that can still be written to. */
  #sockets(stream: number): WebSocket[] {
    return this.#ctx.getWebSockets(tagOf(stream)).filter((socket) => socket.readyState === WebSocket.OPEN)
  }

  /** Sends missed events, as many as may wait for a slow reader, and a client that is to come back away. */
  #catchUp(socket: WebSocket, start: EventId): void {
    const { stream } = start
    const released = this.#released.get(stream)
    let page = ''
    let last = start
    for (const { id, data } of this.#log.after(start)) {
      if (released && id.seq > released.last) break
      if (page.length > pageSize) {
        socket.send(relayMessage(page, eventIdText(last)))
        return socket.close(closeCode.paused)
      }
      page += eventFrame(data, eventIdText(id))
      last = id
    }
    if (page) socket.send(relayMessage(page, eventIdText(last)))
    this.#released.delete(stream)
    if (released) sendAway(socket, released.retry)
    else if (this.#log.find(stream)?.over) socket.close(closeCode.complete)
  }

  /** Whether so much was just sent that more would fill the memory of this object. */
  #isFlooded(characters: number): boolean {
    const now = Date.now()
    if (now - this.#burst.at > turnMs) this.#burst = { at: now, sent: 0 }
    const floods = this.#burst.sent > pageSize
    this.#burst.sent += characters
    return floods
  }
}

/** Whether a socket was opened as the stream of an HTTP+SSE session. */
export const isOverSse = (socket: WebSocket): boolean => attachmentOf(socket).overSse

type Attachment = Pick<StreamOptions, 'relay' | 'overSse'>

// `#open` attached it before it returned the other end of the socket.
const attachmentOf = (socket: WebSocket): Attachment => socket.deserializeAttachment()

const isOf = (reader: WebSocket | StreamBody, relay: string): boolean =>
  (reader instanceof StreamBody ? firstRelay : attachmentOf(reader).relay) === relay

const tagOf = (stream: number) => `stream:${stream}`

function sendStarted(socket: WebSocket, { frames, last, isOver }: NewStream): void {
  if (frames) socket.send(relayMessage(frames, eventIdText(last)))
  if (isOver) socket.close(closeCode.complete)
}

function sendAway(reader: WebSocket | StreamBody, retry: number): void {
  if (reader instanceof StreamBody) return reader.end(retryFrame(retry))
  reader.send(relayMessage(retryFrame(retry)))
  reader.close(closeCode.released)
}
