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

  /** Returns the text of a response, or of an error if the response exceeds the bound. */
  fit(id: RequestId, text: string, revision: Revision): string {
    if (this.#characters + text.length <= maxBatchCharacters) {
      this.#characters += text.length
      return text
    }
    const message = `This response of ${text.length} characters exceeds what is left of ${maxBatchCharacters} for the batch: send its request separately`
    const error = new McpError('internal_error', message)
    return errorText(id, error, revision.error(error.kind))
  }
}
