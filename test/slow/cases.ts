import { test } from 'vitest'
import { isFull } from '../support/full.ts'
import { type Chance, chance } from '../support/random.ts'

/** `npm test` checks one case of so many. */
const partOf = 20

/** The seed of this run: SEED, or a new one. It is part of each test's name, so that every report has it. */
export const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))

/** How many of `count` cases this run checks. */
export const casesOf = (count: number): number =>
  Number(process.env.CASES ?? (isFull ? count : Math.ceil(count / partOf)))

/**
 * Registers a test that checks a property `count` times in the slow suite, and a part of that in `npm test` (CASES overrides
 * the number), each time with random values of its own. A failure names the case; `SEED=<seed>` repeats the run.
 */
export function property(name: string, count: number, check: (random: Chance, index: number) => void | Promise<void>) {
  const cases = casesOf(count)
  test(`${name} (seed ${seed}, ${cases} cases)`, async () => {
    for (let index = 0; index < cases; index += 1) {
      try {
        await check(chance((seed + index * 0x9e3779b1) | 0), index)
      } catch (error) {
        throw new Error(`case ${index} of seed ${seed} failed`, { cause: error })
      }
    }
  })
}
