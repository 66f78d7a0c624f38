/**
 * Prints what a server costs in bytes: its Worker, bundled and minified as for deployment, compressed by gzip. Schema
 * libraries are the user's choice and are left out of the budget. Fails above the budget.
 */
import { resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const root = resolve(import.meta.dirname, '..')

/** Kilobytes of 1,000 bytes, after gzip. */
const budget = 30

const schemaLibraries = ['zod', 'valibot', '@valibot/to-json-schema', 'arktype']

const bundles = [
  { name: 'hello, without its schema library', entry: 'examples/hello/index.ts', external: schemaLibraries, counted: true },
  { name: 'everything the library exports', entry: 'worker/index.ts', external: [], counted: true },
  { name: 'hello, with zod', entry: 'examples/hello/index.ts', external: [], counted: false },
]

let over = false
for (const { name, entry, external, counted } of bundles) {
  const { outputFiles } = await build({
    entryPoints: [resolve(root, entry)],
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: 'es2024',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:*', 'node:*', ...external],
    absWorkingDir: root,
  })
  const bytes = outputFiles[0]?.contents ?? new Uint8Array()
  const kilobytes = gzipSync(bytes, { level: 9 }).byteLength / 1000
  const verdict = counted ? (kilobytes <= budget ? `of ${budget} KB` : `OVER the budget of ${budget} KB`) : 'for comparison'
  over ||= counted && kilobytes > budget
  console.log(`${name.padEnd(36)}${kilobytes.toFixed(1).padStart(6)} KB gzip  ${verdict}`)
}
if (over) process.exitCode = 1
