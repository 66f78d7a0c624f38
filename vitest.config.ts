import { resolve } from 'node:path'
import { cloudflareTest } from '@cloudflare/vitest-plugin'
import { defineConfig } from 'vitest/config'

const quiet = { CLOUDFLARE_CF_FETCH_ENABLED: 'false', WRANGLER_SEND_METRICS: 'false', WRANGLER_LOG: 'none' }
Object.assign(process.env, quiet)

const source = (path: string) => resolve(import.meta.dirname, path)

export default defineConfig({
  logLevel: 'error',
  test: {
    // Each file may start a Workers runtime of its own; two of them are as many as two cores bear.
    maxWorkers: 2,
    projects: [
      {
        test: {
          name: 'node',
          include: ['test/**/*.test.ts'],
          exclude: ['test/worker/**'],
          testTimeout: 30_000,
          hookTimeout: 60_000,
          env: quiet,
        },
      },
      {
        // Inside workerd, for what no client can see: storage, alarms, eviction.
        logLevel: 'error',
        // By its own name the package would be what was built last.
        resolve: {
          alias: [
            { find: 'edgemcp/audit', replacement: source('worker/audit/index.ts') },
            { find: 'edgemcp/auth', replacement: source('worker/auth/index.ts') },
            { find: 'edgemcp/json-schema', replacement: source('worker/json-schema/index.ts') },
            { find: 'edgemcp/limits', replacement: source('worker/limits/index.ts') },
            { find: 'edgemcp/page', replacement: source('worker/page/index.ts') },
            { find: 'edgemcp/sampling', replacement: source('worker/sampling/index.ts') },
            { find: 'edgemcp/state', replacement: source('worker/state/index.ts') },
            { find: 'edgemcp/updates', replacement: source('worker/updates/index.ts') },
            { find: 'edgemcp', replacement: source('worker/index.ts') },
          ],
        },
        plugins: [cloudflareTest({ wrangler: { configPath: './test/support/everything/wrangler.toml' } })],
        test: { name: 'workerd', include: ['test/worker/**/*.test.ts'] },
      },
    ],
  },
})
