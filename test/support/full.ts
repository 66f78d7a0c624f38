/**
 * `npm test` takes a part of what `npm run test:slow` takes whole: random schedules, large tables, projects that are built.
 * `FULL=1 npx vitest run <file>` takes the whole of one file.
 */
export const isFull = process.env.FULL === '1'

/** How many: in `npm test`, and at full count. */
export const count = (part: number, whole: number): number => (isFull ? whole : part)

/** Which rows `npm test` takes: SEED=<number> takes others. The slow suite takes all of them. */
const seed = Number(process.env.SEED ?? 0)

/** Rows of a table: in `npm test` one of every so many, so that each table has some. */
export const sample = <T>(rows: readonly T[], every: number): readonly T[] =>
  isFull
    ? rows
    : rows.filter((_, index) => index % every === seed % Math.min(every, rows.length - index + (index % every)))

/** In `npm test` the first row of each class. */
export function representatives<T>(rows: readonly T[], classOf: (row: T) => unknown): readonly T[] {
  const seen = new Set<unknown>()
  return rows.filter((row) => isFull || (!seen.has(classOf(row)) && seen.add(classOf(row))))
}
