import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { cloudflareTest } from '@cloudflare/vitest-plugin'
import { defineConfig } from 'vitest/config'
import manifest from './package.json' with { type: 'json' }
import { isFull } from './test/support/full.ts'
import { writeInMemory } from './test/support/in-memory.ts'
import { LongestFirst } from './test/support/longest-first.ts'
import { inTests } from './test/support/next-version/replace.ts'

const quiet = {
  CLOUDFLARE_CF_FETCH_ENABLED: 'false',
  WRANGLER_SEND_METRICS: 'false',
  WRANGLER_LOG: 'none',
  // Wrangler adds pages and a log collector for developers to each server. Compiling them takes about 40 % of the processor time of a start.
  X_LOCAL_EXPLORER: 'false',
  X_LOCAL_OBSERVABILITY: 'false',
}
// Wrangler builds NODE_ENV into Workers: theirs must not depend on the shell that the tests run in.
Object.assign(process.env, quiet, { NODE_ENV: 'test' })
// Wrangler, which many tests start, is large: it is compiled once for all of them.
process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'edgemcp-compiled')
// Esbuild bundles every Worker. Its garbage collector takes a fifth of its processor time by default.
process.env.GOGC ??= '400'
// Miniflare copies the certificates into the configuration of each Worker, which takes a third of the processor time of a
// start. Only npm sends requests that need them.
if (process.env.NODE_EXTRA_CA_CERTS) process.env.NPM_CONFIG_CAFILE ??= process.env.NODE_EXTRA_CA_CERTS
delete process.env.NODE_EXTRA_CA_CERTS
writeInMemory()

// A machine with ten times as much to do as it has cores is slow, not wrong. A test that hangs still ends.
const patience = { testTimeout: 120_000, hookTimeout: 180_000 }

// A sequencer of the configuration would take precedence over --sequence.shuffle.files.
const isShuffled = process.argv.some((argument) => argument.startsWith('--sequence.shuffle'))

// Each process transforms the modules of the server again. Projects with another count than the rest run after them;
// `npm test` runs them in a process beside the rest.
const inWorkerd = { maxWorkers: 2, sequence: { groupOrder: 1 } }

/** Tests that also run with a protocol version that does not exist. The slow suite runs all of `test/contract` and `test/compose` so. */
const inNextVersion = isFull
  ? ['test/support/next-version/*.test.ts', 'test/contract/**/*.test.ts', 'test/compose/**/*.test.ts']
  : [
      'test/support/next-version/*.test.ts',
      'test/contract/unknown-version.test.ts',
      'test/compose/eras.test.ts',
      'test/protocol/classify.test.ts',
    ]

const source = (path: string) => resolve(import.meta.dirname, path)

const sourceOf = (built: string) => built.replace('./dist/', '').replace(/\.js$/, '.ts')

/** By its own name the package would be what was built last. The longest names come first: each is looked for as a beginning. */
const byName = Object.entries(manifest.exports)
  .map(([name, { default: built }]) => ({ find: join('edgemcp', name), replacement: source(sourceOf(built)) }))
  .sort((one, other) => other.find.length - one.find.length)

const nextVersion = {
  plugins: [inTests],
  resolve: { alias: byName },
  test: {
    name: 'next-version',
    include: inNextVersion,
    isolate: false,
    setupFiles: 'test/support/afresh.ts',
    ...patience,
    env: { ...quiet, NEXT_VERSION: '1' },
  },
}

export default defineConfig({
  logLevel: 'error',
  test: {
    // Files wait for servers, streams and deadlines: three keep two cores busy. Each process loads all modules.
    maxWorkers: 3,
    sequence: isShuffled ? {} : { sequencer: LongestFirst },
    reporters: ['default', './test/support/skipped-browser.ts'],
    projects: [
      {
        resolve: { alias: byName },
        test: {
          name: 'node',
          include: ['test/**/*.test.ts'],
          exclude: [
            'test/worker/**',
            'test/testing/workers/**',
            'test/testing/outside/**',
            'test/support/next-version/**',
            // They build the package and the site, run commands, install published hosts, wait for slow readers and lifetimes,
            // store large streams and many subscriptions and grants, kill servers, and compare hundreds of answers with the reference server: npm run test:slow.
            'test/slow/{package,site,start,hosts,slow-reader,large-stream,many-subscriptions,many-grants,event-attacks,event-crash,event-stream-age,example-orders}.test.ts',
            'test/everything/everything.test.ts',
          ],
          // To load wrangler costs more than most files do with it.
          isolate: false,
          // Bodies and bundles are large and live briefly.
          execArgv: ['--max-semi-space-size=64'],
          setupFiles: 'test/support/afresh.ts',
          ...patience,
          expect: { poll: { timeout: 30_000 } },
          env: quiet,
        },
      },
      {
        // Inside workerd, for what no client can see: storage, alarms, eviction.
        logLevel: 'error',
        resolve: { alias: byName },
        plugins: [cloudflareTest({ wrangler: { configPath: './test/support/everything/wrangler.toml' } })],
        test: {
          name: 'workerd',
          include: ['test/worker/**/*.test.ts'],
          // A runtime for each file takes longer to start than most files run. Tests restore the clocks and mocks that they set.
          isolate: false,
          setupFiles: 'test/support/patient.ts',
          ...inWorkerd,
          ...patience,
        },
      },
      {
        // An example inside workerd, as its developer would test it.
        logLevel: 'error',
        resolve: { alias: byName },
        plugins: [cloudflareTest({ wrangler: { configPath: './examples/report/wrangler.toml' } })],
        test: {
          name: 'report',
          // Those of examples/orders need another runtime: npm run test:slow.
          include: ['test/testing/workers/*.test.ts'],
          isolate: false,
          // A runtime starts longer than these files run.
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
          ...patience,
        },
      },
      nextVersion,
    ],
  },
})
