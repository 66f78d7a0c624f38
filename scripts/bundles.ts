/**
 * Bundles the Workers of tests and examples before `npm test` starts them: together, so that the modules that they share are
 * parsed once. A test bundles a Worker that has no bundle itself.
 */
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { bundleAll, isBundled } from '../test/support/bundle.ts'

process.env.GOGC ??= '400'

const root = resolve(import.meta.dirname, '..')
/** That of the tests: vitest.config.ts. */
const mode = 'test'

/** Wrangler bundles those that need modules of Node.js. Few have rules or definitions of their own. */
const isPlain = (config: string) => !/nodejs_compat|\brules\b|\bdefine\b/.test(config)

const mains = globSync('{test,examples}/**/wrangler.toml', { cwd: root }).flatMap((file) => {
  const config = readFileSync(join(root, file), 'utf8')
  const [, main] = /^main = "(.*)"$/m.exec(config) ?? []
  return main !== undefined && isPlain(config) ? [resolve(root, dirname(file), main)] : []
})
const missing = [...new Set(mains)].filter((main) => !isBundled(main, { mode }))
if (missing.length > 0) await bundleAll(missing, { mode })
