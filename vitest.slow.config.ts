import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { mergeConfig } from 'vitest/config'
import base from './vitest.config.ts'

/**
 * The slow suite: property and fuzz tests at full count, and tests of which `npm test` takes a part (`test/support/full.ts`).
 * `npm run test:slow` runs it.
 * Each test prints its seed. SEED=<number> repeats a run, CASES=<number> changes how many cases a property gets.
 */
const { projects, ...test } = base.test ?? {}
const node = projects?.[0]
if (typeof node !== 'object' || !('test' in node)) throw new Error('vitest.config.ts has no project to start from')

/** The test files of which `npm test` takes a part. */
const inPart = globSync('test/**/*.test.ts', { cwd: import.meta.dirname }).filter((file) =>
  readFileSync(join(import.meta.dirname, file), 'utf8').includes("support/full.ts'"),
)

export default mergeConfig(
  { ...base, test },
  {
    resolve: node.resolve ?? {},
    test: {
      ...node.test,
      name: 'slow',
      include: ['test/slow/**/*.test.ts', ...inPart],
      env: { ...node.test?.env, FULL: '1' },
      exclude: [],
      testTimeout: 600_000,
    },
  },
)
