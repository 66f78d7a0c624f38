import { test } from 'vitest'
import { type Chance, chance } from '../support/random.ts'

/** The seed of this run: SEED, or a new one. It is part of each test's name, so that every report has it. */
export const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))

/**
 * Registers a test that checks a property `count` times (CASES overrides the number), each time with random values of
 * its own. A failure names the case; `SEED=<seed>` repeats the run.
 */
export function property(name: string, count: number, check: (random: Chance, index: number) => void | Promise<void>) {
  const cases = Number(process.env.CASES ?? count)
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
