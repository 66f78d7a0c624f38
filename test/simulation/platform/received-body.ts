/** The body of a response on its way to a client, which may read slowly, or not at all. */
import { ConnectionLost, type ReceivedBody } from '../client-world.ts'
import type { Context } from './context.ts'
import type { Network } from './network.ts'
import { Window } from './window.ts'

/** What has arrived, and was not read. */
type Chunk = { readonly text: string; readonly bytes: number }

export class SimulatedBody implements ReceivedBody {
  /** Called when the body has ended, or its connection. */
  onEnd = () => {}
  /** Called when the client has lost its connection. The Worker notices it after some milliseconds. */
  onCut: (noticedAfterMs: number) => void = () => {}
  readonly #label: string
  #hasEnded = false
  #failure: Error | undefined
  #lastArrival = 0
  readonly #chunks: Chunk[] = []
  #wake = () => {}
  readonly #network: Network
  /** The request in the Worker, and the client. */
  readonly #sender: Context
  readonly #client: Context
  /** What the connection holds. */
  readonly #window: Window
  readonly #decoder = new TextDecoder()
  /** Milliseconds since 1970: when the client reads on, and until when it reads slowly. */
  #readsAt = 0
  #slow = { until: 0, bytesPerSecond: 0 }

  constructor(network: Network, label: string, sender: Context, client: Context) {
    this.#network = network
    this.#label = label
    this.#sender = sender
    this.#client = client
    this.#window = new Window(network.random)
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

  /** Sends bytes of the body. Resolves when the connection holds all of them. */
  write(bytes: Uint8Array): Promise<void> {
    return this.#window.write(bytes, (part) => {
      const text = this.#decoder.decode(part, { stream: true })
      this.deliver(`chunk ${this.#label} ${text}`, () => {
        this.#chunks.push({ text, bytes: part.length })
        this.#wake()
      })
    })
  }

  end(failure?: Error): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#failure = failure
    this.onEnd()
    this.#wake()
  }

  /** Loses the connection. */
  cut(noticedAfterMs = this.#network.latency()): void {
    if (this.#hasEnded) return
    this.end(new ConnectionLost())
    this.onCut(noticedAfterMs)
  }

  /** Reads nothing for some time. */
  stopReading(ms: number): void {
    this.#readsAt = Math.max(this.#readsAt, this.#network.loop.now + ms)
  }

  /** Reads nothing for some time, and leaves. */
  leaveAfter(ms: number): void {
    this.stopReading(ms)
    this.#network.loop.after(ms, `leaves ${this.#label}`, () => this.#client.run(() => this.cut()), this.#client)
  }

  /** Reads some bytes in a second, for some time. */
  readSlowly(bytesPerSecond: number, ms: number): void {
    this.#slow = { until: this.#network.loop.now + ms, bytesPerSecond }
  }

  /** @throws ConnectionLost after the chunks that arrived */
  async *chunks(): AsyncGenerator<string> {
    for (;;) {
      await this.#untilReading()
      const chunk = this.#next()
      if (chunk !== undefined) {
        this.#take(chunk)
        yield chunk.text
      } else if (this.#failure) throw this.#failure
      else if (this.#hasEnded) return
      else await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }

  async text(): Promise<string> {
    let text = ''
    for await (const chunk of this.chunks()) text += chunk
    return text
  }

  /** Waits until the client reads, or has lost its connection. */
  async #untilReading(): Promise<void> {
    const { loop } = this.#network
    while (loop.now < this.#readsAt && !this.#failure) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
        loop.at(this.#readsAt, `reads on ${this.#label}`, resolve, this.#client)
      })
    }
  }

  /** Returns what the client reads next: all that has arrived or, slowly, at most as much as it reads in a second. */
  #next(): Chunk | undefined {
    const { until, bytesPerSecond } = this.#slow
    const [first] = this.#chunks
    if (!first || this.#network.loop.now >= until) return this.#chunks.shift()
    if (first.bytes > bytesPerSecond) {
      this.#chunks[0] = { text: first.text.slice(bytesPerSecond), bytes: first.bytes - bytesPerSecond }
      return { text: first.text.slice(0, bytesPerSecond), bytes: bytesPerSecond }
    }
    let [text, bytes] = ['', 0]
    for (let next: Chunk | undefined = first; next && bytes + next.bytes <= bytesPerSecond; [next] = this.#chunks) {
      this.#chunks.shift()
      text += next.text
      bytes += next.bytes
    }
    return { text, bytes }
  }

  #take({ bytes }: Chunk): void {
    const { loop } = this.#network
    const { until, bytesPerSecond } = this.#slow
    if (loop.now < until) this.#readsAt = Math.min(until, loop.now + (1000 * bytes) / bytesPerSecond)
    this.#window.take(bytes)
    if (!this.#window.isAwaited) return
    const open = () => this.#sender.enter(() => this.#window.open())
    loop.after(this.#network.latency() / 4, `room > ${this.#label}`, open, this.#sender)
  }
}
