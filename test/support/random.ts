/** Repeatable random numbers: Mulberry32 gives the same numbers for the same seed. */
export function chance(seed: number) {
  let state = seed
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number) => Math.floor(next() * limit)
  return {
    below,
    /** A whole number. Both limits are possible. */
    whole: (from: number, to: number) => from + below(to - from + 1),
    /** At least `from`, less than `to`. */
    between: (from: number, to: number) => from + next() * (to - from),
    one: <T>(of: readonly T[]) => of[below(of.length)] as T,
    some: <T>(least: number, most: number, make: (index: number) => T) =>
      Array.from({ length: least + below(most - least + 1) }, (_, index) => make(index)),
    shuffled: <T>(all: readonly T[]): T[] => {
      const left = [...all]
      return all.map(() => left.splice(below(left.length), 1)[0] as T)
    },
    /** True once in this many times. */
    rarely: (times: number) => below(times) === 0,
    /** True with this probability. */
    often: (probability: number) => next() < probability,
  }
}

export type Chance = ReturnType<typeof chance>
