import { checkValue } from '../declarations/check-options.ts'
import * as kind from '../declarations/option-kinds.ts'

/**
 * Checks a key of a journal. One of another type would not be found in the next round, and an effect would run again.
 *
 * @param method the member of `ctx`, for the error
 * @param named what the key names
 */
export const checkKey = (method: string, key: unknown, named = 'input request'): void =>
  checkValue(`ctx.${method}()`, 'key', key, [kind.string[0], `a string that names the ${named} in this call`])
