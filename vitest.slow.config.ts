import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cloudflareTest } from '@cloudflare/vitest-plugin'
import { defineConfig } from 'vitest/config'

/**
 * The slow suite: property and fuzz tests at full count, tests of which `npm test` takes a part (`test/support/full.ts`), and
 * those that also run with a protocol version that does not exist. `npm run test:slow` runs it.
 * Each test prints its seed. SEED=<number> repeats a run, CASES=<number> changes how many cases a property gets.
 */
process.env.FULL = 'slow'
const { default: base } = await import('./vitest.config.ts')

const { projects = [], ...test } = base.test ?? {}
const node = projects[0]
const report = projects[2]
const nextVersion = projects.at(-1)
if (
  typeof node !== 'object' ||
  !('test' in node) ||
  typeof report !== 'object' ||
  !('test' in report) ||
  nextVersion === undefined
) {
  throw new Error('vitest.config.ts has no projects to start from')
}

/** The test files of which `npm test` takes a part. */
const inPart = globSync('test/**/*.test.ts', { cwd: import.meta.dirname }).filter((file) =>
  readFileSync(join(import.meta.dirname, file), 'utf8').includes("support/full.ts'"),
)

export default defineConfig({
  ...base,
  test: {
    ...test,
    projects: [
      {
        ...node,
        test: {
          ...node.test,
          name: 'slow',
          include: ['test/slow/**/*.test.ts', ...inPart],
          exclude: [],
          testTimeout: 600_000,
        },
      },
      {
        ...report,
        plugins: [cloudflareTest({ wrangler: { configPath: './examples/orders/wrangler.toml' } })],
        test: { ...report.test, name: 'orders', include: ['test/testing/workers/orders/*.test.ts'] },
      },
      nextVersion,
    ],
  },
})
