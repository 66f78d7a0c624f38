import { execFileSync } from 'node:child_process'
import { copyFileSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { transformSync } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '../..')

type Diagnostic = { category: string; location: { path: string | { file: string } } }

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'edgemcp-imports-'))
  copyFileSync(join(root, 'biome.imports.json'), join(folder, 'biome.json'))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Writes the files and returns, by file, the rules that they break. */
function lint(files: Readonly<Record<string, string>>): Record<string, string[]> {
  for (const [path, code] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), code)
  }
  const biome = join(root, 'node_modules/.bin/biome')
  const args = ['lint', '--reporter=json', '--max-diagnostics=none', '.']
  let output: string
  try {
    output = execFileSync(biome, args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  } catch (error) {
    // Biome exits with 1 when a file breaks a rule.
    output = (error as { stdout: string }).stdout
  }
  const broken: Record<string, string[]> = {}
  for (const { category, location } of JSON.parse(output).diagnostics as Diagnostic[]) {
    const path = typeof location.path === 'string' ? location.path : location.path.file
    broken[path] = [...(broken[path] ?? []), category.replace('lint/style/', '')].sort()
  }
  return broken
}

const imports = 'noRestrictedImports'
const globals = 'noRestrictedGlobals'

const refused: [path: string, code: string, rule: string][] = [
  ['worker/protocol/b.ts', `import { a } from '../declarations/a.ts'; a()`, imports],
  ['worker/protocol/b.ts', `import type { A } from '../declarations/a.ts'; export type B = A`, imports],
  ['worker/protocol/b.ts', `export * from '../http/a.ts'`, imports],
  ['worker/protocol/b.ts', `export const a = await import('../http/a.ts')`, imports],
  ['worker/protocol/b.ts', `import { SignJWT } from 'jose'; SignJWT()`, imports],
  ['worker/protocol/deep/b.ts', `import { a } from '../../engine/a.ts'; a()`, imports],
  ['worker/protocol/b.ts', 'export const later = () => setTimeout(() => {}, 1)', globals],
  ['worker/protocol/b.ts', 'export const now = Date.now()', globals],
  ['worker/protocol/b.ts', 'export const id = crypto.randomUUID()', globals],
  ['worker/engine/b.ts', 'export const r = new Response()', globals],
  ['worker/sealing/b.ts', `import { a } from '../declarations/a.ts'; a()`, imports],
  ['worker/client/b.ts', `import { a } from '../testing/a.ts'; a()`, imports],
  ['worker/declarations/b.ts', `import { a } from '../engine/a.ts'; a()`, imports],
  ['worker/engine/b.ts', `import { a } from '../http/a.ts'; a()`, imports],
  ['worker/engine/b.ts', `import { a } from '../plugins/auth/a.ts'; a()`, imports],
  ['worker/engine/b.ts', `import { env } from 'cloudflare:workers'; env()`, imports],
  ['worker/plugins/a/b.ts', `import { a } from '../c/a.ts'; a()`, imports],
  ['worker/plugins/a/deep/b.ts', `import { a } from '../../c/a.ts'; a()`, imports],
  ['worker/plugins/a/b.ts', `import { a } from '../../http/a.ts'; a()`, imports],
  ['worker/plugins/a/b.ts', `import { a } from '../../../durable-objects/session/object.ts'; a()`, imports],
  ['worker/testing/b.ts', `import { a } from '../engine/a.ts'; a()`, imports],
  ['inspector/b.ts', `import { a } from '../worker/declarations/a.ts'; a()`, imports],
  ['cli/b.ts', `import { serve } from '../worker/serve.ts'; serve()`, imports],
  ['cli/b.ts', `import { a } from '../worker/plugins/auth/a.ts'; a()`, imports],
  ['examples/one/b.ts', `import { serve } from '../../worker/serve.ts'; serve()`, imports],
]

const accepted: [path: string, code: string][] = [
  ['worker/protocol/b.ts', `import { a } from './a.ts'; a()`],
  ['worker/protocol/deep/b.ts', `import { a } from '../a.ts'; a()`],
  [
    'worker/protocol/b.ts',
    `// import { a } from '../http/a.ts'\nexport const text = "import '../http/a.ts'; fetch(Date.now())"`,
  ],
  [
    'worker/protocol/b.ts',
    'export const a = (environment: { fetch: 1; Date: 2 }) => environment.fetch + environment.Date',
  ],
  ['worker/declarations/b.ts', `import { a } from '../protocol/a.ts'; a()`],
  ['worker/engine/methods/b.ts', `import { a } from '../../declarations/a.ts'; import { b } from '../b.ts'; a(b)`],
  ['worker/plugins/a/b.ts', `import { a } from '../../engine/a.ts'; import { b } from './deep/b.ts'; a(b)`],
  ['worker/plugins/discovery/b.ts', `import { a } from '../skills/a.ts'; a()`],
  ['worker/plugins/a/b.ts', `import type { A } from '../../../durable-objects/session/rpc.ts'; export type B = A`],
  ['worker/plugins/a/deep/b.ts', `import { a } from '../../../protocol/a.ts'; import { b } from '../b.ts'; a(b)`],
  ['worker/testing/b.ts', `import { a } from '../client/a.ts'; a()`],
  ['inspector/b.ts', `import { a } from '../worker/client/a.ts'; a()`],
  ['cli/b.ts', `import { a } from '../worker/plugins/openapi/a.ts'; a()`],
  ['examples/one/b.ts', `import { serve } from 'edgemcp'; import { a } from './a.ts'; serve(a)`],
]

describe('the import rule of biome.imports.json', () => {
  const inFolder = (index: number, path: string) => path.replace(/b\.ts$/, `b${index}.ts`)
  const files = [...refused, ...accepted].map(([path, code], index) => [inFolder(index, path), code] as const)
  let broken: Record<string, string[]>

  beforeAll(() => {
    broken = lint(Object.fromEntries(files))
  })

  test.each(refused.map((row, index) => [...row, index] as const))('refuses %s: %s', (path, _, rule, index) => {
    expect(broken[inFolder(index, path)]).toEqual([rule])
  })

  test.each(accepted.map((row, index) => [...row, refused.length + index] as const))(
    'accepts %s: %s',
    (path, _, index) => {
      expect(broken[inFolder(index, path)] ?? []).toEqual([])
    },
  )
})

/** Only worker/protocol knows when a protocol version was published; the others name dates that are not of the protocol, or run in no server. */
const mayNameDates = [
  'worker/protocol/',
  'worker/plugins/page/inspector/assets.ts',
  'worker/plugins/development/compatibility.ts',
]

test('only worker/protocol names the dates of protocol versions', () => {
  const files = globSync('{worker,durable-objects,inspector}/**/*.ts', { cwd: root })
  expect(files.length).toBeGreaterThan(200)
  const withDates = files
    .filter((path) => !mayNameDates.some((place) => path.startsWith(place)))
    // `minifyWhitespace` removes comments.
    .filter((path) =>
      /\b20\d\d-\d\d-\d\d\b/.test(
        transformSync(readFileSync(join(root, path), 'utf8'), { loader: 'ts', minifyWhitespace: true }).code,
      ),
    )
  expect(withDates).toEqual([])
})
