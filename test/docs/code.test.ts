/** The code on the pages is good, and the servers on them serve. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { startServer } from '../support/server.ts'
import { errorsOf, type Module, modulesOf, strangersOf, withConvention } from './compile.ts'
import { guides, read, root } from './pages.ts'

const modules = guides.flatMap(modulesOf)

test('the code of every page compiles', () => {
  expect(withConvention(errorsOf(modules))).toEqual([])
})

test('a code block that is taken from a file is in that file', () => {
  expect(guides.flatMap(strangersOf)).toEqual([])
})

test.each(servers(modules))('the server of %s can be called', async (_, { block, page }) => {
  const folder = join('.wrangler', 'pages', `${page.replaceAll('/', '-')}-${block.line}`)
  mkdirSync(join(root, folder), { recursive: true })
  try {
    writeFileSync(join(root, folder, 'index.ts'), block.code)
    writeFileSync(join(root, folder, 'wrangler.toml'), configurationOf(block.code))
    await using server = await startServer(folder)
    const paths = [...block.code.matchAll(/\bserve\(\w+, \{[^}]*? path: '(.*?)'/g)].map(([, path = '']) => path)
    const addresses = ['/mcp', ...paths].map((path) => new URL(path, server.url))
    const spoken = addresses.flatMap((url) => ['2025-06-18', '2026-07-28'].map((revision) => ({ url, revision })))
    for (const { url, revision } of spoken) {
      await using client = await connect(url, { revision })
      const { tools } = await client.request('tools/list')
      const [tool] = tools as { name: string; inputSchema: unknown }[]
      const result = await client.callTool(tool?.name ?? '', samplesFor(tool?.inputSchema))
      expect(result.isError, JSON.stringify(result)).toBeFalsy()
    }
  } finally {
    rmSync(join(root, folder), { recursive: true, force: true })
  }
})

test('an error names the page and the line, also in a comment, and refers to the convention for code on pages', () => {
  const page = read('x.md', ['# X', '', '<!-- ts', 'const a: number = ""', '-->', '```ts', 'a.b()', '```'].join('\n'))
  const errors = withConvention(errorsOf(modulesOf(page)))
  expect(errors).toEqual([
    "x.md:4 Type 'string' is not assignable to type 'number'.",
    "x.md:7 Property 'b' does not exist on type 'number'.",
    expect.stringContaining('HTML comment'),
  ])
})

test('a whole module must import what it uses, a part of a module need not', () => {
  const code = (text: string) => modulesOf(read('x.md', `\`\`\`ts\n${text}\n\`\`\`\n`))
  expect(errorsOf(code("server.prompt('p', { description: 'd' }, () => 'x')"))).toEqual([])
  expect(errorsOf(code('export default serve(server)'))[0]).toMatch(/^x\.md:2 Cannot find name 'serve'/)
})

test('a code block can continue earlier blocks, and can be the body of a function', () => {
  const page = read(
    'x.md',
    ['```ts', 'const a = 1', '```', '<!-- ts continues', '-->', '```ts', 'a + 1', '```'].join('\n') +
      ['', '<!-- ts', 'const f = (n: number) => {', '  // …', '}', '-->', '```ts', 'return n', '```'].join('\n'),
  )
  expect(errorsOf(modulesOf(page))).toEqual([])
})

/** Whole modules that end up as a Worker of this library. */
function servers(all: readonly Module[]) {
  const whole = all.filter(({ isWhole, block }) => isWhole && /from 'edgemcp'/.test(block.code))
  return whole.map((module) => [`${module.page}:${module.block.line}`, module] as const)
}

function configurationOf(code: string): string {
  // `export const { McpSession: OwnSession } = …`, `export { McpState } from …`
  const exported = [...code.matchAll(/^export (?:const )?\{(.*?)\}/gm)].flatMap(([, names = '']) => names.split(','))
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
