import { messageOf } from '../../../protocol/errors.ts'

/**
 * Carries an error of an option of `proxy()`, which is a function of the developer, to the log. Nothing was sent, so the upstream is not at
 * fault. The client gets an internal error.
 */
export class OptionError extends Error {
  override readonly name = 'OptionError'

  /** @param what names the proxy */
  constructor(option: 'headers' | 'fetch', what: string, problem: unknown) {
    super(`"${option}" of ${what} failed: ${messageOf(problem)}`, { cause: problem })
  }
}
