/** What a server sends to the calls of one POST, and the most that is read of it. */
import { maxAnswerBytes, type ReadBytes } from '../protocol/bounded-body.ts'

/** What was read so far, of one response or of several, and the most that is read. */
export type Received = ReadBytes & { values: number; readonly maxValues: number }

/** Values of JSON. Each is read several times: this many take about half a second. */
const maxAnswerValues = 100_000

export const newReceived = (maxBytes = maxAnswerBytes, maxValues = maxAnswerValues): Received => ({
  bytes: 0,
  maxBytes,
  values: 0,
  maxValues,
})

/** Counts together what the calls of one POST receive: a short batch could have long answers. */
export class ReceivedByPost {
  readonly #byPost = new WeakMap<object, Received>()

  /** @param post the object that the calls of a POST share: see `CallEnvironment.post` */
  of(post: object): Received {
    const received = this.#byPost.get(post) ?? newReceived()
    this.#byPost.set(post, received)
    return received
  }
}
