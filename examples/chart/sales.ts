/** What a shop sold: made up, and the same whenever it is asked for. */

export const [firstYear, lastYear] = [2021, 2025] as const

/** Pieces in each month of the first year: little in summer, much before Christmas. */
const firstMonths = {
  January: 112,
  February: 104,
  March: 131,
  April: 127,
  May: 118,
  June: 96,
  July: 83,
  August: 88,
  September: 125,
  October: 142,
  November: 186,
  December: 241,
}

export function salesIn(year: number) {
  const growth = 1 + (year - firstYear) / 10
  const months = Object.entries(firstMonths).map(([month, sold], index) => ({
    month,
    // No year is quite like another.
    sold: Math.round(sold * growth) + ((year * (index + 3)) % 29),
  }))
  return { year, firstYear, lastYear, months }
}
