/** Messages for many sockets, sent in order and in batches, so that neither the first socket nor other work waits for all of them. */

/** Messages that are sent in one turn of the object. */
const batchSize = 250
/** Messages that may be queued before a publisher has to wait. */
const maxQueued = 16

export class Outbox {
  readonly #queue: { message: string; sockets: readonly WebSocket[] }[] = []
  #isBusy = false
  #done = Promise.resolve()

  /** Queues a message for sockets. */
  send(message: string, sockets: readonly WebSocket[]): void {
    this.#queue.push({ message, sockets })
    if (this.#isBusy) return
    this.#isBusy = true
    this.#done = this.#deliver()
  }

  /** Waits while so much is queued that it would fill the memory. */
  async waitForCapacity(): Promise<void> {
    if (this.#queue.length > maxQueued) await this.#done
  }

  async #deliver(): Promise<void> {
    let left = batchSize
    for (let next = this.#queue[0]; next; next = this.#queue[0]) {
      for (const socket of next.sockets) {
        if (left-- === 0) {
          // The runtime sends what was written so far.
          await new Promise((resolve) => setTimeout(resolve))
          left = batchSize - 1
        }
        try {
          if (socket.readyState === WebSocket.OPEN) socket.send(next.message)
        } catch {
          // A socket that closes at this moment must not keep the message from the others.
        }
      }
      this.#queue.shift()
    }
    this.#isBusy = false
  }
}
