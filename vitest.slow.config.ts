import { mergeConfig } from 'vitest/config'
import base from './vitest.config.ts'

/**
 * The slow suite: property and fuzz tests at full count, and tables that take minutes. `npm run test:slow` runs it.
 * Each test prints its seed. SEED=<number> repeats a run, CASES=<number> changes how many cases a property gets.
 */
const { projects, ...test } = base.test ?? {}
const node = projects?.[0]
if (typeof node !== 'object' || !('test' in node)) throw new Error('vitest.config.ts has no project to start from')

export default mergeConfig(
  { ...base, test },
  {
    resolve: node.resolve ?? {},
    test: {
      ...node.test,
      name: 'slow',
      include: ['test/slow/**/*.test.ts'],
      exclude: [],
      testTimeout: 600_000,
    },
  },
)
