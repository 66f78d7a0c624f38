/**
 * A relay: turns the WebSocket of a Durable Object into an event stream. The Worker holds the connection of the client and keeps it alive,
 * while the object may hibernate. If the object is lost, the relay reconnects with the id of the last event.
 */

import * as closeCode from '../protocol/close-code.ts'
import { readRelayMessage } from '../protocol/relay-messages.ts'
import { retryFrame } from '../protocol/server-sent-events.ts'
import type { Credential } from '../request-hooks.ts'
import { dialUntilAnswered } from './dial-until-answered.ts'
import { EventStream, type EventStreamOptions, eventStreamHeaders } from './event-stream.ts'
import { startAgeTimer } from './stream-age.ts'

const finalCodes = new Set<number>([closeCode.complete, closeCode.released, closeCode.replaced])
/** Close code for a message of another format: the two ends run different releases, so the client must reconnect. */
const unreadable = 4004
/** The code of a WebSocket that ends with an error (RFC 6455, section 7.4.1). */
const abnormalClosure = 1006

export type RelayOptions = Omit<EventStreamOptions, 'onGone' | 'onRoom'> & {
  /**
   * Opens the socket, after an event id if one is known. The header `Last-Event-ID` of the response is the position of the socket. Without
   * it the position is unknown, so the stream ends if its reader is slow.
   *
   * @param again for a client that had a socket before, and has not noticed its loss
   * @param hasId whether this connection has brought the client an event id
   */
  dial(after: string | undefined, again: boolean, hasId: boolean): Promise<Response>
  /** See `Limits`. Default: the stream has no maximum age. */
  maxStreamAgeMs?: number
  /** The credential that opened the stream, which ends with it once its client has an event id, or needs none. Default: none. */
  credential?: Credential | undefined
  /** Notifies the object that the client has disconnected, even without a socket at that time. */
  notifyOnClose?: boolean
  /** Converts the payload of a message into a frame. Without it, each payload already consists of frames. */
  frame?(payload: string): string
  /** Sent first, once the object sends. */
  firstFrame?: string
  /** Sent last, when the stream ends before its client disconnects. */
  lastFrame?: string
  /** Called when the stream has ended, or its client has disconnected. */
  onEnd?(): void
}

/** @returns an event stream, or the response of the object if it opens no socket */
export async function openRelay(options: RelayOptions, after?: string): Promise<Response> {
  const response = await dialUntilAnswered(
    () => options.dial(after, false, false),
    () => false,
  )
  if (!response.webSocket) return response
  const relay = new Relay(options, after)
  relay.attach(response.webSocket, response)
  return new Response(relay.body, { headers: eventStreamHeaders })
}

/** Continues the stream of a response whose first part had no relay. @param after the id of the last event that its client has */
export function continueStream(options: RelayOptions, after: string | undefined): ReadableStream<Uint8Array> {
  const relay = new Relay(options, after, true)
  void relay.redial()
  return relay.body
}

class Relay {
  readonly #options: RelayOptions
  readonly #stream: EventStream
  #socket: WebSocket | undefined
  /** The id of the last event that was sent. */
  #lastId: string | undefined
  /** Whether the client has an event id of this connection: published clients forget the one with which they resumed. */
  #hasSentId: boolean
  readonly #continues: boolean
  #isClientGone = false
  #hasEnded = false
  /** Whether the client reads slowly: there is no socket until there is room again. */
  #isPaused = false
  /** Whether the stream has reached its maximum age, and ends when its next socket opens, or after an event id. */
  #isAged = false
  /** Whether the client can continue when the stream ends: it has an event id, or needs none. */
  #canContinue: boolean
  readonly #stopAgeTimer: () => void
  #credential: Credential
  /** What came from the object while the credential is verified again. */
  #held: (() => unknown)[] = []
  #heldCharacters = 0
  #verifying: Promise<void> | undefined

  /** @param continues whether it continues a response: this connection has brought the client the event `after` */
  constructor(options: RelayOptions, after: string | undefined, continues = false) {
    this.#options = options
    this.#lastId = after
    this.#continues = continues
    this.#hasSentId = continues && after !== undefined
    this.#canContinue = after !== undefined || options.lastFrame !== undefined || options.notifyOnClose === true
    const { maxStreamAgeMs = Number.POSITIVE_INFINITY, credential = {} } = options
    this.#credential = credential
    this.#stopAgeTimer = startAgeTimer(maxStreamAgeMs, credential.expires, () => this.#onMaxAge())
    this.#stream = new EventStream({ ...options, onGone: () => this.#onClientGone(), onRoom: () => this.#resume() })
    if (options.firstFrame !== undefined) this.#stream.send(options.firstFrame)
  }

  get body(): ReadableStream<Uint8Array> {
    return this.#stream.body
  }

  /** Sends the messages of a socket. @param response that contains the socket */
  attach(socket: WebSocket, { headers }: Response): void {
    this.#socket = socket
    this.#lastId ??= headers.get('Last-Event-ID') ?? undefined
    // What comes on a socket that the relay has given up does not count any more.
    const onClose = (code: number) => {
      this.#inOrder(() => this.#socket === socket && this.#onClose(code))
    }
    socket.addEventListener('message', ({ data }) => {
      this.#inOrder(() => this.#socket === socket && this.#onMessage(data), data)
    })
    socket.addEventListener('close', ({ code }) => onClose(code))
    socket.addEventListener('error', () => onClose(abnormalClosure))
    socket.accept()
  }

  /**
   * Runs `work` after what came before it, not before a credential that may have been revoked is verified again, and not with one that has
   * expired.
   */
  #inOrder(work: () => unknown, data: unknown = ''): void {
    const { expires = Number.POSITIVE_INFINITY, recheck } = this.#credential
    const now = Date.now()
    // The timer may come later.
    if (expires <= now && !this.#isAged) this.#onMaxAge()
    if (this.#hasEnded) return
    if (recheck && recheck.at <= now) this.#verifying ??= this.#verifyAgain(recheck.verify)
    if (!this.#verifying) {
      work()
      return
    }
    this.#held.push(work)
    this.#heldCharacters += typeof data === 'string' ? data.length : 0
    if (this.#heldCharacters <= this.#options.maxBufferedBytes) return
    // Its client continues after the last event that it received.
    if (this.#canContinue) return this.#onMaxAge()
    // The object sends all of it again.
    this.#held = []
    this.#heldCharacters = 0
    this.#isPaused = true
    this.#disconnect(closeCode.paused)
  }

  /** Ends the stream of a client whose credential was revoked. It can continue with another credential. */
  async #verifyAgain(verify: () => Promise<Credential>): Promise<void> {
    const credential = await verify().catch(() => undefined)
    this.#verifying = undefined
    if (credential) this.#credential = credential
    else if (!this.#hasEnded) this.#onMaxAge()
    const held = this.#hasEnded ? [] : this.#held
    this.#held = []
    this.#heldCharacters = 0
    for (const work of held) work()
    if (this.#stream.hasRoom) this.#resume()
  }

  #onClose(code: number): void {
    this.#socket = undefined
    // A dial of this relay that was lost may arrive late, and replace the one after it. The object refuses to replace that of another client.
    if (finalCodes.has(code) && !(this.#continues && code === closeCode.replaced)) this.#end()
    else if (code === closeCode.paused && !this.#stream.hasRoom) this.#isPaused = true
    else void this.redial()
  }

  #onMessage(data: unknown): void {
    const message = readRelayMessage(data)
    if (!message) {
      this.#disconnect(unreadable)
      return this.#end()
    }
    const { frame } = this.#options
    this.#send(frame ? frame(message.payload) : message.payload, message.id)
  }

  /** @param id of the last event. Default: there is none */
  #send(frames: string, id: string | undefined): void {
    this.#stream.send(frames)
    this.#lastId = id ?? this.#lastId
    if (id !== undefined) this.#hasSentId = true
    if (!this.#canContinue && this.#hasSentId) {
      this.#canContinue = true
      if (this.#isAged) return this.#onMaxAge()
    }
    if (this.#stream.hasRoom) return
    if (this.#lastId === undefined) {
      this.#stream.end()
      return this.#onClientGone()
    }
    // The object keeps the rest in its log; here it would fill the memory that all requests share.
    this.#isPaused = true
    this.#disconnect(closeCode.paused)
  }

  #disconnect(code: number, reason?: string): void {
    const socket = this.#socket
    this.#socket = undefined
    socket?.close(code, reason)
  }

  /** Ends the stream as if its client had disconnected, once the client has an event id or the last frame says what to do. */
  #onMaxAge(): void {
    // Its client would lose all that comes: without an event id, the next stream begins with the next event.
    if (!this.#canContinue) {
      this.#isAged = true
      return
    }
    const { lastFrame } = this.#options
    // Only the object knows where a client without an event id continues.
    if (!this.#socket && lastFrame !== undefined) {
      this.#isAged = true
      return this.#resume()
    }
    if (lastFrame === undefined) this.#stream.send(retryFrame())
    // Before the end of the stream, so that the object knows of it when the client continues.
    if (!this.#options.notifyOnClose) this.#disconnect(closeCode.aged, this.#lastId)
    this.#end()
    this.#onClientGone()
  }

  #end(): void {
    this.#stopAgeTimer()
    const { lastFrame } = this.#options
    if (lastFrame !== undefined) this.#stream.send(lastFrame)
    this.#stream.end()
    this.#callOnEnd()
  }

  /** Calls `onEnd` once. */
  #callOnEnd(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#options.onEnd?.()
  }

  #onClientGone(): void {
    this.#stopAgeTimer()
    this.#isClientGone = true
    this.#callOnEnd()
    if (this.#isPaused) {
      this.#isPaused = false
      if (this.#options.notifyOnClose) void this.redial()
    } else this.#disconnect(closeCode.clientGone)
  }

  /** Opens the next socket of a paused stream: there is room again, or the stream ends. Not before a credential is verified again. */
  #resume(): void {
    if (!this.#isPaused || this.#verifying) return
    this.#isPaused = false
    void this.redial()
  }

  /** Opens the next socket. */
  async redial(): Promise<void> {
    try {
      const response = await dialUntilAnswered(
        () => this.#options.dial(this.#lastId, true, this.#hasSentId),
        () => this.#isClientGone,
      )
      // The object has nothing more for this stream.
      if (!response.webSocket) return this.#end()
      this.attach(response.webSocket, response)
      if (this.#isClientGone) this.#onClientGone()
      else if (this.#isAged) this.#onMaxAge()
    } catch {
      this.#end()
    }
  }
}
