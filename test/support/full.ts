/**
 * `npm test` runs a part of what `npm run test:slow` runs completely: random schedules, large tables, projects that are built.
 * `FULL=1 npx vitest run <file>` runs all of one file.
 */
export const isFull = process.env.FULL !== undefined
/** The slow suite runs after `npm test`. */
const isSlowSuite = process.env.FULL === 'slow'

/** The count for `npm test`, and the full count. */
export const count = (part: number, whole: number): number => (isFull ? whole : part)

/** Selects the rows of `npm test`: SEED=<number> selects others. The slow suite runs all rows. */
const seed = Number(process.env.SEED ?? 0)

/** Selects rows of a table: in `npm test` every nth one, so that each table has some. */
export const sample = <T>(rows: readonly T[], every: number): readonly T[] => (isFull ? rows : everyNth(rows, every))

/** Selects the rows of `sample` in `npm test`, and the others in the slow suite: for rows of which both run the same test. */
export function share<T>(rows: readonly T[], every: number): readonly T[] {
  const sampled = everyNth(rows, every)
  if (isSlowSuite) return rows.filter((row) => !sampled.includes(row))
  return isFull ? rows : sampled
}

const everyNth = <T>(rows: readonly T[], every: number): readonly T[] =>
  rows.filter((_, index) => index % every === seed % Math.min(every, rows.length - index + (index % every)))

/** Selects the first row of each class in `npm test`. */
export function representatives<T>(rows: readonly T[], classOf: (row: T) => unknown): readonly T[] {
  const seen = new Set<unknown>()
  return rows.filter((row) => isFull || (!seen.has(classOf(row)) && seen.add(classOf(row))))
}
