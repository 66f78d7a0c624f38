/** The code on the pages is good, and the servers on them serve. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { bundleAll } from '../support/bundle.ts'
import { sample } from '../support/full.ts'
import { startServer } from '../support/server.ts'
import { errorsOf, type Module, modulesOf, strangersOf, withConvention } from './compile.ts'
import { guides, type Page, read, root } from './pages.ts'

const modules = guides.flatMap(modulesOf)

const wrong = read(
  'wrong.md',
  ['# X', '', '<!-- ts', 'const a: number = ""', '-->', '```ts', 'a.b()', '```'].join('\n'),
)
const part = read('part.md', "```ts\nserver.prompt('p', { description: 'd' }, () => 'x')\n```\n")
const whole = read('whole.md', '```ts\nexport default serve(server)\n```\n')
const continued = read(
  'continued.md',
  ['```ts', 'const a = 1', '```', '<!-- ts continues', '-->', '```ts', 'a + 1', '```'].join('\n') +
    ['', '<!-- ts', 'const f = (n: number) => {', '  // …', '}', '-->', '```ts', 'return n', '```'].join('\n'),
)
const samples = [wrong, part, whole, continued]

/** The compiler runs once for all pages. */
let errors: readonly string[]
beforeAll(() => {
  errors = errorsOf([...modules, ...samples.flatMap(modulesOf)])
})
const errorsIn = ({ path }: Page) => errors.filter((error) => error.startsWith(`${path}:`))

const folderOfAll = join('.wrangler', 'pages')
/** Every page compiles; the slow suite also starts the servers of all. */
const served = sample(servers(modules), 4)

beforeAll(async () => {
  for (const { folder, code } of served) {
    mkdirSync(join(root, folder), { recursive: true })
    writeFileSync(join(root, folder, 'index.ts'), code)
    writeFileSync(join(root, folder, 'wrangler.toml'), configurationOf(code))
  }
  await bundleAll(
    served.map(({ folder }) => join(root, folder, 'index.ts')),
    { mode: String(process.env.NODE_ENV) },
  )
})
afterAll(() => rmSync(join(root, folderOfAll), { recursive: true, force: true }))

test('the code of every page compiles', () => {
  const ofSamples = samples.flatMap(errorsIn)
  expect(withConvention(errors.filter((error) => !ofSamples.includes(error)))).toEqual([])
})

test('a code block that is taken from a file is in that file', () => {
  expect(guides.flatMap(strangersOf)).toEqual([])
})

test.each(served)('the server of $place can be called', async ({ folder, code }) => {
  await using server = await startServer(folder)
  if (code.includes("tenants('/{tenant}/mcp'")) {
    // Its tenants have authorization servers, whose tokens a call needs.
    return expect((await fetch(new URL('/acme/mcp', server.url), { method: 'POST' })).status).toBe(401)
  }
  const paths = [...code.matchAll(/\bserve\(\w+, \{[^}]*? path: '(.*?)'/g)].map(([, path = '']) => path)
  const addresses = ['/mcp', ...paths].map((path) => new URL(path, server.url))
  const spoken = addresses.flatMap((url) => ['2025-06-18', '2026-07-28'].map((revision) => ({ url, revision })))
  for (const { url, revision } of spoken) {
    await using client = await connect(url, { revision })
    const { tools } = await client.request('tools/list')
    const [tool] = tools as { name: string; inputSchema: unknown }[]
    const result = await client.callTool(tool?.name ?? '', samplesFor(tool?.inputSchema))
    expect(result.isError, JSON.stringify(result)).toBeFalsy()
  }
})

test('an error names the page and the line, also in a comment, and refers to the convention for code on pages', () => {
  expect(withConvention(errorsIn(wrong))).toEqual([
    "wrong.md:4 Type 'string' is not assignable to type 'number'.",
    "wrong.md:7 Property 'b' does not exist on type 'number'.",
    expect.stringContaining('HTML comment'),
  ])
})

test('a whole module must import what it uses, a part of a module need not', () => {
  expect(errorsIn(part)).toEqual([])
  expect(errorsIn(whole)[0]).toMatch(/^whole\.md:2 Cannot find name 'serve'/)
})

test('a code block can continue earlier blocks, and can be the body of a function', () => {
  expect(errorsIn(continued)).toEqual([])
})

/** Whole modules that end up as a Worker of this library. */
function servers(all: readonly Module[]) {
  const whole = all.filter(({ isWhole, block }) => isWhole && /from 'edgemcp'/.test(block.code))
  return whole.map(({ page, block }) => ({
    place: `${page}:${block.line}`,
    folder: join(folderOfAll, `${page.replaceAll('/', '-')}-${block.line}`),
    code: block.code,
  }))
}

function configurationOf(code: string): string {
  // `export const { McpSession: OwnSession } = …`, `export { McpState } from …`
  const exported = [...code.matchAll(/^export (?:const )?\{([^}]*)\}/gm)].flatMap(([, names = '']) =>
    names.split(',').filter((name) => name.trim() !== ''),
  )
  const classes = JSON.stringify(exported.map((name) => name.split(':').at(-1)?.trim()))
  return `name = "page"
main = "index.ts"
compatibility_date = "2026-10-15"
compatibility_flags = ["enable_request_signal"]
[[migrations]]
tag = "v1"
new_sqlite_classes = ${classes}
`
}

/** Arguments that fit the plain schemas which pages have. */
function samplesFor(schema: unknown): Record<string, unknown> {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    properties?: Record<string, { type?: string; enum?: unknown[] }>
    required?: string[]
  }
  const sample = ({ type, enum: choices }: { type?: string; enum?: unknown[] } = {}) =>
    choices?.[0] ?? { string: 'x', number: 1, integer: 1, boolean: true, array: [], object: {} }[type ?? 'string']
  return Object.fromEntries(required.map((name) => [name, sample(properties[name])]))
}
