import { durationPattern } from './option-kinds.ts'

/** Describes a time span: milliseconds, or a number and a unit: `500ms`, `2s`, `10m`, `1.5h`, `7d`. */
export type Duration = number | string

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/**
 * Parses a duration.
 *
 * @param duration milliseconds, or a number and a unit: `500ms`, `2s`, `10m`, `1.5h`, `7d`
 * @param owner the name of the duration, for the error
 * @returns whole milliseconds
 * @throws Error for another text, and for a negative number
 */
export function milliseconds(duration: Duration, owner: string): number {
  const [, amount = '', unit = ''] = durationPattern.exec(String(duration)) ?? []
  const value = typeof duration === 'number' ? duration : Number(amount || Number.NaN) * (units[unit] ?? Number.NaN)
  if (value >= 0 && Number.isFinite(value)) return Math.round(value)
  throw new Error(
    `${owner} is ${JSON.stringify(duration)}: use milliseconds, or a string such as '2s', '10m', '1h' or '7d'`,
  )
}

/** As `milliseconds()`, for durations that may be `Infinity`. */
export const millisecondsOrInfinity = (duration: Duration, owner: string): number =>
  duration === Number.POSITIVE_INFINITY ? duration : milliseconds(duration, owner)
