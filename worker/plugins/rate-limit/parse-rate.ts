/** Parses rates and quotas such as `60/m`. */

/** A number of calls per number of seconds. */
export type Rate = { readonly text: string; readonly times: number; readonly seconds: number }

/** The periods of the rate limiting of Workers, in seconds. */
const ratePeriods: Readonly<Record<string, number>> = { '10s': 10, m: 60 }
const quotaPeriods: Readonly<Record<string, number>> = { m: 60, h: 3_600, d: 86_400 }

/** @throws Error with one sentence that names the fix */
export const readRate = (text: string, owner: string): Rate =>
  read(
    text,
    ratePeriods,
    `${owner} has the rate`,
    '60/m or 10/10s. A rate counts in periods of 10s or m (a minute); quota counts those of an hour or a day',
  )

/** @throws Error with one sentence that names the fix */
export const readQuota = (text: string, owner: string): Rate =>
  read(
    text,
    quotaPeriods,
    `${owner} has the quota`,
    '1000/d, 100/h or 10/m. A quota counts in periods of m, h or d (a minute, an hour or a day)',
  )

function read(text: string, periods: Readonly<Record<string, number>>, what: string, examples: string): Rate {
  const [, times, period = ''] = /^([1-9]\d{0,8})\/(\w+)$/.exec(text) ?? []
  const seconds = Object.hasOwn(periods, period) ? periods[period] : undefined
  if (times === undefined || seconds === undefined) throw new Error(`${what} "${text}": write it like ${examples}`)
  return { text, times: Number(times), seconds }
}

/** Returns the name of the binding that counts a rate: `RATE_60_PER_60S` for `60/m`. */
export const bindingOf = ({ times, seconds }: Rate): string => `RATE_${times}_PER_${seconds}S`

const units: readonly [number, string][] = [
  [86_400, 'a day'],
  [3_600, 'an hour'],
  [60, 'a minute'],
]

/** For people and models: "at most 60 in a minute". */
export function rateText({ times, seconds }: Rate): string {
  const [, period = `${seconds} seconds`] = units.find(([length]) => length === seconds) ?? []
  return `at most ${times} in ${period}`
}
