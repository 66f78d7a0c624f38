import { drainMicrotasks } from '../engine/drain-microtasks.ts'
import { McpError } from '../protocol/errors.ts'
import type { HttpAnswer } from './json-response.ts'

/**
 * The messages that the calls of a request send to its client, in their order. The iteration ends with the response, as its return value.
 * The reader aborts the calls when the client disconnects.
 */
export interface CallMessages extends AsyncIterator<string, HttpAnswer> {
  /** Aborted when the client disconnects. Most calls end before they need it, so the connection is observed from its first read. */
  readonly signal: AbortSignal
  /** Rejects when the client disconnects, once handlers that react to the signal at once have ended. */
  whenAborted(): Promise<never>
  /** Adds a message. Messages beyond the bound are dropped. */
  push(message: string): void
  end(answer: HttpAnswer): void
  /** Called for a client that no longer reads. */
  abort(): void
}

/**
 * @param maxCharacters of the waiting messages. The reader takes messages as they come, and drops those that its client has no room for;
 * the bound is for a call that sends many messages before the reader can run.
 */
export function callMessages(request: Request, maxCharacters: number): CallMessages {
  const waiting: string[] = []
  let waitingCharacters = 0
  let answer: HttpAnswer | undefined
  let wake = () => {}
  let controller: AbortController | undefined
  let gone: PromiseWithResolvers<never> | undefined
  return {
    get signal() {
      return watch().signal
    },
    abort: () => watch().abort(),
    whenAborted() {
      gone ??= Promise.withResolvers<never>()
      // Only a race listens, and it may be over.
      gone.promise.catch(() => {})
      return gone.promise
    },
    push(message) {
      if (waitingCharacters >= maxCharacters) return
      waiting.push(message)
      waitingCharacters += message.length
      wake()
    },
    end(last) {
      answer = last
      wake()
    },
    async next() {
      for (;;) {
        const value = waiting.shift()
        if (value !== undefined) {
          waitingCharacters -= value.length
          return { value }
        }
        if (answer) return { done: true, value: answer }
        await new Promise<void>((resolve) => (wake = resolve))
      }
    },
  }

  function watch(): AbortController {
    if (controller) return controller
    const { signal } = request
    const abort = new AbortController()
    abort.signal.addEventListener('abort', async () => {
      await drainMicrotasks()
      gone?.reject(new McpError('call_interrupted', 'The client disconnected'))
    })
    if (signal.aborted) abort.abort()
    else signal.addEventListener('abort', () => abort.abort(), { once: true })
    controller = abort
    return abort
  }
}
