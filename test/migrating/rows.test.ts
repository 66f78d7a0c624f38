/** What the tables of docs/migrating name is used by the servers beside this file, whose answers are compared. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'

const pages = join(resolve(import.meta.dirname, '../..'), 'docs/migrating')

/** The table of each page, and the folders of the servers that it is about. */
const tables = [
  {
    page: 'index.md',
    title: 'Changes in every server',
    names: ['mcp-agent', 'agents-handler', 'sdk-1', 'sdk-2', 'mcp-lite'],
  },
  { page: 'mcp-agent.md', title: 'API mapping', names: ['mcp-agent'] },
  { page: 'create-mcp-handler.md', title: 'API mapping', names: ['agents-handler'] },
  { page: 'sdk-1.md', title: 'API mapping', names: ['sdk-1'] },
  { page: 'sdk-2.md', title: 'API mapping', names: ['sdk-2'] },
  { page: 'mcp-lite.md', title: 'API mapping', names: ['mcp-lite'] },
]
/** Pages without such a table: FastMCP is written in Python, and test/everything checks the page of the reference server. */
const untested = ['fastmcp.md', 'reference-server.md']

const written = (names: readonly string[], files: readonly string[]): string =>
  names.flatMap((name) => files.map((file) => readFileSync(join(import.meta.dirname, name, file), 'utf8'))).join('\n')

const sections = tables.map(({ page, title, names }) => {
  const all = readFileSync(join(pages, page), 'utf8').split(/^## /m)
  return { page, names, rows: all.filter((section) => section.split('\n')[0] === title).flatMap(rowsOf) }
})

test('the table of every page is checked against servers', () => {
  expect([...tables.map(({ page }) => page), ...untested].toSorted()).toEqual(readdirSync(pages).toSorted())
  expect(sections.filter(({ rows }) => rows.length === 0)).toEqual([])
})

describe.each(sections)('$page', ({ names, rows }) => {
  const [before, after] = [written(names, ['before.ts']), written(names, ['index.ts', 'wrangler.toml'])]

  test.each(rows)('%s → %s', (left, right) => {
    expect(namedIn(left).filter((name) => !before.includes(name))).toEqual([])
    expect(namedIn(right).filter((name) => !after.includes(name))).toEqual([])
  })
})

/** Rows of tables, without their heads. */
function rowsOf(section: string): [left: string, right: string][] {
  const cells = [...section.matchAll(/^\| (.+) \|$/gm)].map(([, row = '']) => row.split(/(?<!\\) \| /))
  return cells.filter((_, index) => index > 0).map(([left = '', right = '']) => [left, right])
}

/** What pieces of code begin with, without the words of the language: `server.tool(name, …)` is about `server.tool`. */
function namedIn(cell: string): string[] {
  const pieces = [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code)
  return pieces.flatMap((code) => {
    const words = [...code.matchAll(/[\w$]+(?:\.[\w$]+)*/g)].map(([word]) => word)
    return (
      words.find((word) => !/^(new|class|extends|return|throw|import|export|from|const|async|await)$/.test(word)) ?? []
    )
  })
}
