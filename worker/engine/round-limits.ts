/** How many rounds of input requests a call may have. */
import { McpError } from '../protocol/errors.ts'

/** Rounds with input requests that a call may have. */
const maxRounds = 100
/** Consecutive rounds that may use none of the input responses. One round may do so by chance, because branches of a handler race. */
const maxUnusedRounds = 2

/**
 * Returns the error of a call that has had too many rounds; `undefined` for another one.
 *
 * @param rounds of the call so far: all, and the last ones that used no input response
 * @param unused keys of input responses that the handler did not use
 * @param openKeys keys of the input requests of this round
 */
export function roundLimitError(
  rounds: { readonly all: number; readonly unused: number },
  unused: readonly string[],
  openKeys: readonly string[],
): McpError | undefined {
  if (rounds.unused !== maxUnusedRounds && rounds.all <= maxRounds) return undefined
  const list = (keys: readonly string[]) => keys.map((key) => `"${key}"`).join(', ')
  const message =
    unused.length > 0
      ? `Keys must be the same in each round: the handler no longer requests ${list(unused)}, but ${list(openKeys)}`
      : `Too many input rounds: at most ${maxRounds} in one call`
  return new McpError('internal_error', message)
}
