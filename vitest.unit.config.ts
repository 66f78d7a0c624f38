import { globSync } from 'node:fs'
import { buildSync } from 'esbuild'
import { mergeConfig } from 'vitest/config'
import base from './vitest.config.ts'

/**
 * The unit tests: files from which no import leads to a server, another process or a browser, without the property and fuzz
 * tests. `npm run test:unit` runs them, `npm run test:unit -- --watch` again after each change.
 */
const { projects, ...test } = base.test ?? {}
const node = projects?.[0]
if (typeof node !== 'object' || !('test' in node)) throw new Error('vitest.config.ts has no project to start from')

const isOutside = (module: string) =>
  /^(node:)?(child_process|http|https|net)$|^(wrangler|playwright-core)$/.test(module)

const exclude = [...(node.test?.exclude ?? []), 'test/slow/**']
const files = globSync('test/**/*.test.ts', { cwd: import.meta.dirname, exclude })
const { inputs } = buildSync({
  absWorkingDir: import.meta.dirname,
  entryPoints: files,
  outdir: 'unused',
  write: false,
  metafile: true,
  bundle: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
  logLevel: 'error',
}).metafile

/** Does an import lead from a file to a module that a unit test does without? */
function leadsOutside(path: string, seen = new Set<string>()): boolean {
  if (seen.has(path)) return false
  seen.add(path)
  return inputs[path]?.imports.some((to) => isOutside(to.path) || leadsOutside(to.path, seen)) ?? false
}

export default mergeConfig(
  { ...base, test },
  {
    resolve: node.resolve ?? {},
    test: { ...node.test, name: 'unit', include: files.filter((file) => !leadsOutside(file)) },
  },
)
