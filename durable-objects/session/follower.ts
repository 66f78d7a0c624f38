/**
 * A Worker that waits for more of a stream by RPC, without a relay. Most calls that request input from a program, or that send a
 * notification, end soon, and a socket would cost more than the wait. The object cannot sleep meanwhile, so the wait is short.
 */

import { waitAtMost } from '../../worker/engine/wait.ts'
import * as closeCode from '../../worker/protocol/close-code.ts'
import type { Followed } from '../rpc.ts'

/** Milliseconds for which the object stays in memory to wait for the next message. An object in memory is billed. */
const maxWaitMs = 500
/** How often a Worker may wait. A relay is cheaper for a stream with more turns. */
const maxTurns = 5
/** Characters that wait for the Worker. The rest stays in the log. */
const maxCharacters = 256 * 1024

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
