/** What a client has received of the body of a response. */
import type { ReceivedBody } from '../client-world.ts'
import type { Context } from './context.ts'
import type { Network } from './network.ts'

export class SimulatedBody implements ReceivedBody {
  /** Called when the body has ended, or its connection. */
  onEnd = () => {}
  #hasEnded = false
  #failure: Error | undefined
  #lastArrival = 0
  readonly #chunks: string[] = []
  #wake = () => {}
  readonly #network: Network
  readonly #client: Context

  constructor(network: Network, client: Context) {
    this.#network = network
    this.#client = client
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Delivers a part of the response to the client, after those before. */
  deliver(label: string, act: () => void): void {
    const { loop } = this.#network
    this.#lastArrival = Math.max(this.#lastArrival + 0.001, loop.now + this.#network.latency())
    loop.at(
      this.#lastArrival,
      label,
      () => {
        if (!this.#hasEnded) this.#client.run(act)
      },
      this.#client,
    )
  }

  push(text: string): void {
    this.#chunks.push(text)
    this.#wake()
  }

  end(failure?: Error): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#failure = failure
    this.onEnd()
    this.#wake()
  }

  /** @throws ConnectionLost after the chunks that arrived */
  async *chunks(): AsyncGenerator<string> {
    for (;;) {
      const chunk = this.#chunks.shift()
      if (chunk !== undefined) yield chunk
      else if (this.#failure) throw this.#failure
      else if (this.#hasEnded) return
      else await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }

  async text(): Promise<string> {
    let text = ''
    for await (const chunk of this.chunks()) text += chunk
    return text
  }
}
