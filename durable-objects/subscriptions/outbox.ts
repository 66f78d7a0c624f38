/** What is told to many listeners, in order: some at a time, so that neither the first nor anything else waits for all. */

/** Listeners that are told in one turn of the object. */
const batchSize = 250
/** Frames that may be on their way before a publisher has to wait. */
const maxQueued = 16

export class Outbox {
  readonly #letters: { frame: string; sockets: readonly WebSocket[] }[] = []
  #isBusy = false
  #done = Promise.resolve()

  /** Those who listen now. */
  send(frame: string, sockets: readonly WebSocket[]): void {
    this.#letters.push({ frame, sockets })
    if (this.#isBusy) return
    this.#isBusy = true
    this.#done = this.#deliver()
  }

  /** Resolves at once, unless so much is on its way that it would fill the memory. */
  async waitForCapacity(): Promise<void> {
    if (this.#letters.length > maxQueued) await this.#done
  }

  async #deliver(): Promise<void> {
    let left = batchSize
    for (let letter = this.#letters[0]; letter; letter = this.#letters[0]) {
      for (const socket of letter.sockets) {
        if (left-- === 0) {
          // What was sent goes out now.
          await new Promise((resolve) => setTimeout(resolve))
          left = batchSize - 1
        }
        try {
          if (socket.readyState === WebSocket.OPEN) socket.send(letter.frame)
        } catch {
          // One that goes at this moment does not keep it from the others.
        }
      }
      this.#letters.shift()
    }
    this.#isBusy = false
  }
}
