/**
 * New streams of POSTs, before they have a relay. The Worker gets their events in results of RPC: all of them at once if the stream has
 * ended, otherwise the start, and the rest through a `Follower`. Most streams end soon, and a relay costs as much as a whole call. The
 * log contains the events, too.
 */

import { waitAtMost } from '../../worker/engine/wait.ts'
import { BoundedMap } from '../../worker/protocol/bounded-map.ts'
import * as closeCode from '../../worker/protocol/close-code.ts'
import { relayMessage } from '../../worker/protocol/relay-messages.ts'
import { primingFrame } from '../../worker/protocol/server-sent-events.ts'
import { type EventId, eventIdText } from '../shared/event-log.ts'
import type { Followed, Following } from './rpc.ts'

/** Characters of a stream that are kept for its Worker. A longer one needs a relay, and the rest stays in the log. */
const maxCharacters = 256 * 1024
/** Milliseconds for which the object stays in memory to wait for the next message. An object in memory is billed. */
const maxWaitMs = 500
/** How often a Worker may wait. A relay is cheaper for a stream with more turns. */
const maxTurns = 5

/** A stream that its Worker has not received yet. */
export type NewStream = {
  /** Its events so far. */
  frames: string
  /** The newest of them. */
  last: EventId
  /** Whether it has ended. */
  isOver: boolean
}

export class FollowedStreams {
  /** Streams that no Worker has received yet, while they are short. */
  readonly #new = new BoundedMap<number, NewStream>({ maxEntries: 100 })
  /** Workers that wait for more of a stream. */
  readonly #followers = new BoundedMap<number, Follower>({ maxEntries: 100 })

  /** Collects the events of a new stream. */
  begin(stream: number): void {
    this.#new.set(stream, { frames: '', last: { stream, seq: 0 }, isOver: false })
  }

  /** Adds an event to a new stream. */
  append(stream: number, frame: string, id: EventId): void {
    const started = this.#new.get(stream)
    if (!started) return
    // Each of the two: a result may be much larger than all before it.
    if (Math.max(started.frames.length, frame.length) > maxCharacters) return this.delete(stream)
    started.frames += frame
    started.last = id
  }

  /** Marks a new stream as ended. */
  end(stream: number): void {
    const started = this.#new.get(stream)
    if (started) started.isOver = true
  }

  delete(stream: number): void {
    this.#new.delete(stream)
  }

  /** Returns a new stream for the relay that opens it; `undefined` if it is long, or not new. */
  take(stream: number): NewStream | undefined {
    const started = this.#new.get(stream)
    this.delete(stream)
    return started
  }

  /**
   * Returns what the Worker of a new stream gets: `frames`, all its events, if it has ended, otherwise its start. Neither for a stream that
   * needs a relay, because it has no event yet, was released or is long.
   *
   * @param polling whether the client understands priming events
   */
  respond(stream: number, polling: boolean): { frames?: string; following?: Following } {
    const started = this.#new.get(stream)
    if (!started || !(started.isOver || started.frames)) return {}
    this.delete(stream)
    const frames = (polling ? primingFrame(eventIdText({ stream, seq: 0 })) : '') + started.frames
    if (started.isOver) return { frames }
    const follower = new Follower(() => this.#followers.delete(stream))
    this.#followers.set(stream, follower)
    const messages = [relayMessage(frames, eventIdText(started.last))]
    return { following: { messages, next: (relay) => follower.next(relay) } }
  }

  /** Returns the Worker that follows a stream. */
  followerOf(stream: number): Follower | undefined {
    return this.#followers.get(stream)
  }

  /** Ends all streams. */
  completeAll(): void {
    for (const [stream] of [...this.#new]) this.delete(stream)
    for (const [, follower] of [...this.#followers]) follower.close(closeCode.complete)
  }
}

/**
 * A Worker that waits for more of a stream by RPC, without a relay. Most calls that request input from a program, or that send a
 * notification, end soon, and a socket would cost more than the wait. The object cannot sleep meanwhile, so the wait is short.
 */
export class Follower {
  /** The relay that may continue the stream, once the Worker waits. */
  relay: string | undefined
  readonly #onEnd: () => void
  #messages: string[] = []
  #characters = 0
  #code: number | undefined
  #turns = 0
  #wake = () => {}

  /** @param onEnd called when nothing more may be sent */
  constructor(onEnd: () => void) {
    this.#onEnd = onEnd
  }

  send(message: string): void {
    this.#characters += message.length
    if (this.#characters > maxCharacters) return this.close(closeCode.paused)
    this.#messages.push(message)
    this.#wake()
  }

  close(code: number): void {
    this.#code ??= code
    this.#onEnd()
    this.#wake()
  }

  /** Waits for the next messages of a turn. */
  async next(relay: string): Promise<Followed> {
    this.relay = relay
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wake = resolve
    if (this.#messages.length === 0 && this.#code === undefined) await waitAtMost(maxWaitMs, promise)
    const messages = this.#messages
    this.#messages = []
    this.#characters = 0
    this.#turns += 1
    if (messages.length === 0 || this.#turns === maxTurns) this.close(closeCode.parked)
    return { messages, code: this.#code }
  }
}
