/**
 * New streams of POSTs, before they have a relay. The response to the POST is the whole stream if it has ended, and otherwise the body of a
 * running stream: a call that runs keeps the object in memory anyway, and a relay is a second request to it. The log contains the events, too.
 */

import { BoundedMap } from '../../worker/protocol/bounded-map.ts'
import { primingFrame } from '../../worker/protocol/server-sent-events.ts'
import { type EventId, eventIdText } from '../shared/event-log.ts'
import { StreamBody } from './stream-body.ts'

/** Characters of a stream that are kept for its response. A longer one needs a relay, and the rest stays in the log. */
const maxCharacters = 256 * 1024
/** New streams and bodies of one session. More need a relay. */
const maxEntries = 100
/** Milliseconds for which a body stays open while no call of its stream runs. The object cannot sleep meanwhile, and is billed. */
const parkAfterMs = 500

/** A stream that its Worker has not received yet. */
export type NewStream = {
  /** Its events so far. */
  frames: string
  /** The newest of them. */
  last: EventId
  /** Whether it has ended. */
  isOver: boolean
}

export class NewStreams {
  /** Streams that no Worker has received yet, while they are short. */
  readonly #new = new BoundedMap<number, NewStream>({ maxEntries })
  /** Bodies of running streams. */
  readonly #bodies = new Map<number, StreamBody>()
  readonly #keepAliveMs: number

  /** @param keepAliveMs milliseconds between comments on a body */
  constructor(keepAliveMs: number) {
    this.#keepAliveMs = keepAliveMs
  }

  /** Collects the events of a new stream. */
  begin(stream: number): void {
    this.#new.set(stream, { frames: '', last: { stream, seq: 0 }, isOver: false })
  }

  /** Adds an event to a new stream. */
  append(stream: number, frame: string, id: EventId): void {
    const started = this.#new.get(stream)
    if (!started) return
    if (started.frames.length + frame.length > maxCharacters) return this.delete(stream)
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
   * Returns the response of a new stream: `frames`, all its events, if it has ended, otherwise its body. Neither for a stream that needs a
   * relay, because it was released or is long, or because there are too many bodies.
   *
   * @param polling whether the client understands priming events
   * @param bodyUntil see `Post`
   */
  respond(
    stream: number,
    { polling, bodyUntil }: { polling: boolean; bodyUntil: number },
  ): { frames?: string; body?: ReadableStream<Uint8Array> } {
    const started = this.take(stream)
    if (!started) return {}
    const frames = (polling ? primingFrame(eventIdText({ stream, seq: 0 })) : '') + started.frames
    if (started.isOver) return { frames }
    if (this.#bodies.size >= maxEntries || bodyUntil <= Date.now()) return {}
    const onEnd = () => {
      if (this.#bodies.get(stream) === body) this.#bodies.delete(stream)
    }
    const body = new StreamBody(this.#keepAliveMs, bodyUntil, onEnd)
    this.#bodies.set(stream, body)
    if (frames) body.send(frames)
    return { body: body.readable }
  }

  /** Returns the open body of a stream. */
  bodyOf(stream: number): StreamBody | undefined {
    return this.#bodies.get(stream)
  }

  /** Ends the body of a stream soon, unless a call of the stream runs: a relay continues, and the object can sleep. */
  parkUnlessRunning(stream: number, isRunning: () => boolean): void {
    const body = this.#bodies.get(stream)
    if (!body || isRunning()) return
    body.after(parkAfterMs, () => {
      if (!isRunning()) body.breakOff()
    })
  }

  /** Ends all streams. */
  completeAll(): void {
    for (const [stream] of [...this.#new]) this.delete(stream)
    for (const body of [...this.#bodies.values()]) body.end()
  }
}
