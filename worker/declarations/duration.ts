import { preview } from './check-options.ts'
import { durationMs } from './option-kinds.ts'

/** Describes a time span: milliseconds, or a number and a unit: `500ms`, `2s`, `10m`, `1.5h`, `7d`. */
export type Duration = number | string

/**
 * Parses a duration.
 *
 * @param duration milliseconds, or a number and a unit: `500ms`, `2s`, `10m`, `1.5h`, `7d`
 * @param owner the name of the duration, for the error
 * @returns whole milliseconds
 * @throws Error for another text, and for a negative number
 */
export function milliseconds(duration: Duration, owner: string): number {
  const value = durationMs(duration)
  if (value >= 0 && Number.isFinite(value)) return Math.round(value)
  throw new Error(`${owner} is ${preview(duration)}: use milliseconds, or a string such as '2s', '10m', '1h' or '7d'`)
}

/** As `milliseconds()`, for durations that may be `Infinity`. */
export const millisecondsOrInfinity = (duration: Duration, owner: string): number =>
  duration === Number.POSITIVE_INFINITY ? duration : milliseconds(duration, owner)
