/** The network between contexts. */
import type { Buffers } from './buffers.ts'
import type { EventLoop } from './event-loop.ts'
import type { Random } from './random.ts'

export type Network = {
  readonly loop: EventLoop
  readonly random: Random
  /** Milliseconds that a message takes. */
  latency(): number
  /** The calls that wait for an answer: a fault may sever them. */
  readonly calls: Set<() => void>
  /** What waits for readers. */
  readonly buffers: Buffers
}

/** The error of a caller whose callee was lost. */
export const connectionLost = (): Error =>
  Object.assign(new Error('Network connection lost.'), { retryable: true, remote: true })
