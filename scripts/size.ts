/**
 * Prints the size of servers: the Worker, bundled and minified as for deployment, compressed by gzip. Schema
 * libraries and other entry points are printed for comparison, without a budget. Fails above the budget, and when bench/figures.json, with
 * which a test compares the pages, has another size. `-- --write` writes the sizes there.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const root = resolve(import.meta.dirname, '..')

const schemaLibraries = ['zod', 'valibot', '@valibot/to-json-schema', 'arktype']
const hello = "import * as hello from './examples/hello/index.ts'; export { hello }"
/** The same server without sessions. */
const stateless = readFileSync(resolve(root, 'examples/hello/index.ts'), 'utf8')
  .replace(/import \{ sessions \}.*\n/, '')
  .replace(', { plugins: [sessions()] }', '')
  .replace(/export const \{ McpSession \}.*\n/, '')
const everything = "export * from './worker/index.ts'"
const extra = (entry: string) => `${everything};export * from 'edgemcp/${entry}'`

/** `budget`: kilobytes of 1,000 bytes, after gzip. */
const bundles = [
  { name: 'hello without sessions() and schema library', source: stateless, external: schemaLibraries, budget: 47.9 },
  { name: 'hello, without its schema library', source: hello, external: schemaLibraries, budget: 68.5 },
  { name: 'everything of edgemcp', source: everything, external: schemaLibraries, budget: 49.3 },
  { name: 'with edgemcp/api-keys', source: extra('api-keys'), external: schemaLibraries },
  { name: 'with edgemcp/apps', source: extra('apps'), external: schemaLibraries },
  { name: 'with edgemcp/audit', source: extra('audit'), external: schemaLibraries },
  { name: 'with edgemcp/auth', source: extra('auth'), external: schemaLibraries },
  { name: 'with edgemcp/compose', source: extra('compose'), external: schemaLibraries },
  { name: 'with edgemcp/discovery', source: extra('discovery'), external: schemaLibraries },
  { name: 'with edgemcp/events', source: extra('events'), external: schemaLibraries },
  { name: 'with edgemcp/inspector', source: extra('inspector'), external: schemaLibraries },
  { name: 'with edgemcp/knowledge', source: extra('knowledge'), external: schemaLibraries },
  { name: 'with edgemcp/rate-limit', source: extra('rate-limit'), external: schemaLibraries },
  { name: 'with edgemcp/observe', source: extra('observe'), external: schemaLibraries },
  { name: 'with edgemcp/openapi', source: extra('openapi'), external: schemaLibraries },
  { name: 'with edgemcp/page', source: extra('page'), external: schemaLibraries },
  { name: 'with edgemcp/results', source: extra('results'), external: schemaLibraries },
  { name: 'with edgemcp/sessions', source: extra('sessions'), external: schemaLibraries },
  { name: 'with edgemcp/sign-in', source: extra('sign-in'), external: schemaLibraries },
  { name: 'with edgemcp/skills', source: extra('skills'), external: schemaLibraries },
  { name: 'with edgemcp/state', source: extra('state'), external: schemaLibraries },
  { name: 'with edgemcp/tasks', source: extra('tasks'), external: schemaLibraries },
  { name: 'with edgemcp/subscriptions', source: extra('subscriptions'), external: schemaLibraries },
  { name: 'with edgemcp/sampling', source: extra('sampling'), external: schemaLibraries },
  { name: 'with edgemcp/json-schema', source: extra('json-schema'), external: schemaLibraries },
  { name: 'hello, with zod', source: hello, external: [] },
]

const figuresFile = resolve(root, 'bench/figures.json')
const figures = JSON.parse(readFileSync(figuresFile, 'utf8')) as { sizes: Record<string, number> }
const isWriting = process.argv.includes('--write')
/** Kilobytes by which a size may differ before the pages say something else. */
const tolerance = 0.5

for (const { name, source, external, budget } of bundles) {
  const { outputFiles } = await build({
    stdin: { contents: source, resolveDir: root, loader: 'ts' },
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: 'es2024',
    // As in a deployment, which excludes code for development.
    define: { 'globalThis.process.env.NODE_ENV': '"production"' },
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:*', 'node:*', ...external],
    absWorkingDir: root,
  })
  const bytes = outputFiles[0]?.contents ?? new Uint8Array()
  const kilobytes = gzipSync(bytes, { level: 9 }).byteLength / 1000
  const isOver = budget !== undefined && kilobytes > budget
  const verdict = isOver ? `OVER the budget of ${budget} KB` : budget ? `of ${budget} KB` : 'for comparison'
  console.log(`${name.padEnd(38)}${kilobytes.toFixed(2).padStart(6)} KB gzip  ${verdict}`)
  if (isOver) process.exitCode = 1
  const written = figures.sizes[name] ?? 0
  if (isWriting) figures.sizes[name] = Math.round(kilobytes * 10) / 10
  else if (Math.abs(kilobytes - written) > tolerance) {
    console.log(`  bench/figures.json says ${written}: run npm run size -- --write`)
    process.exitCode = 1
  }
}
if (isWriting) writeFileSync(figuresFile, `${JSON.stringify(figures, undefined, 2)}\n`)
