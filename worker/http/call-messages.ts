import { drainMicrotasks } from '../engine/drain-microtasks.ts'
import { McpError } from '../protocol/errors.ts'
import type { HttpAnswer } from './json-response.ts'

/**
 * The messages that the calls of a request send to its client, in their order. The iteration ends with the response, as its return value.
 * The reader aborts the calls when the client disconnects.
 */
export class CallMessages implements AsyncIterator<string, HttpAnswer> {
  /** Resolves when the calls have ended. */
  ended: Promise<void> = Promise.resolve()
  readonly #request: Request
  readonly #maxCharacters: number
  readonly #waiting: string[] = []
  #waitingCharacters = 0
  #answer: HttpAnswer | undefined
  #wake = () => {}
  #controller: AbortController | undefined
  #gone: PromiseWithResolvers<never> | undefined

  /**
   * @param maxCharacters of the waiting messages. The reader takes messages as they come, and drops those that its client has no room for;
   * the bound is for a call that sends many messages before the reader can run.
   */
  constructor(request: Request, maxCharacters: number) {
    this.#request = request
    this.#maxCharacters = maxCharacters
  }

  /** Aborted when the client disconnects. Most calls end before they need it, so the connection is observed from its first read. */
  get signal(): AbortSignal {
    return this.#watch().signal
  }

  /** Called for a client that no longer reads. */
  abort(): void {
    this.#watch().abort()
  }

  /** Rejects when the client disconnects, once handlers that react to the signal at once have ended. */
  whenAborted(): Promise<never> {
    this.#gone ??= Promise.withResolvers<never>()
    // Only a race listens, and it may be over.
    this.#gone.promise.catch(() => {})
    return this.#gone.promise
  }

  /** Adds a message. Messages beyond the bound are dropped. */
  push(message: string): void {
    if (this.#waitingCharacters >= this.#maxCharacters) return
    this.#waiting.push(message)
    this.#waitingCharacters += message.length
    this.#wake()
  }

  /** Ends the messages with the response of the calls. @param answering does not reject */
  endWith(answering: Promise<HttpAnswer>): void {
    this.ended = answering.then((answer) => {
      this.#answer = answer
      this.#wake()
    })
  }

  /** The response, if no message precedes it. */
  get onlyAnswer(): HttpAnswer | undefined {
    return this.#waiting.length === 0 ? this.#answer : undefined
  }

  async next(): Promise<IteratorResult<string, HttpAnswer>> {
    for (;;) {
      const value = this.#waiting.shift()
      if (value !== undefined) {
        this.#waitingCharacters -= value.length
        return { value }
      }
      if (this.#answer) return { done: true, value: this.#answer }
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  #watch(): AbortController {
    if (this.#controller) return this.#controller
    const { signal } = this.#request
    const abort = new AbortController()
    abort.signal.addEventListener('abort', async () => {
      await drainMicrotasks()
      this.#gone?.reject(new McpError('call_interrupted', 'The client disconnected'))
    })
    if (signal.aborted) abort.abort()
    else signal.addEventListener('abort', () => abort.abort(), { once: true })
    this.#controller = abort
    return abort
  }
}
