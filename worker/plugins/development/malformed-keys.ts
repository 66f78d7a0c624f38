import { secretSealer } from '../../platform.ts'
import { messageOf } from '../../protocol/errors.ts'

let isDone = false

/** Warns, once, when the secret with the keys cannot be read. */
export function warnOfMalformedKeys(): void {
  if (isDone) return
  isDone = true
  try {
    secretSealer('')
  } catch (problem) {
    console.warn(`edgemcp cannot use its keys, so input requests and sessions fail: ${messageOf(problem)}`)
  }
}
