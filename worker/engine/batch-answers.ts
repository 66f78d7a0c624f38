/** The response to a batch: one array, and the bound on its characters. */
import { McpError } from '../protocol/errors.ts'
import { errorText } from '../protocol/jsonrpc.ts'
import type { Revision } from '../protocol/revision.ts'
import type { RequestId } from '../protocol/types.ts'

/** Characters of all responses of one batch, as `length` counts them. */
export const maxBatchCharacters = 8 * 1024 * 1024

/** Returns the response to a batch: the array of the responses to its requests. */
export const batchText = (texts: readonly string[]): string => `[${texts.join(',')}]`

/**
 * Bounds the responses of one batch, which wait in memory for each other: a short request can have a long response, and a batch can repeat
 * it. Each response is counted when it is created, so that responses beyond the bound are not stored.
 */
export class BatchAnswers {
  #characters = 0
  #turn = Promise.resolve()

  /**
   * Resolves when the next call may start: other requests of the isolate run between two calls.
   *
   * @param ended resolves when this call has ended, after its turn. Default: it ends before the next one asks for a turn
   */
  nextTurn(ended = Promise.resolve()): Promise<void> {
    const turn = this.#turn
    // biome-ignore lint/style/noRestrictedGlobals: a turn of the event loop, whatever the clock
    this.#turn = ended.then(() => new Promise((resolve) => setTimeout(resolve)))
    return turn
  }

  /** Returns a response, or one with an error if its text exceeds the bound. */
  fit<R extends { readonly id: RequestId; readonly text: string }>(response: R, revision: Revision): R {
    const { id, text } = response
    this.#characters += text.length
    if (this.#characters <= maxBatchCharacters) return response
    this.#characters -= text.length
    const message = `The responses to the batch exceed ${maxBatchCharacters} characters: send this request separately`
    const error = new McpError('internal_error', message)
    return { ...response, text: errorText(id, error, revision.error(error.kind)) }
  }
}
