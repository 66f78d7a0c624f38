/** What the tables of docs/migrating/index.md name is used by the servers beside this file, whose answers are compared. */
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '../..')
const page = readFileSync(join(root, 'docs/migrating/index.md'), 'utf8')

const folders: Readonly<Record<string, readonly string[]>> = {
  'What is the same for all of them': ['mcp-agent', 'agents-handler', 'sdk-1', 'sdk-2', 'mcp-lite'],
  'From McpAgent': ['mcp-agent'],
  'From createMcpHandler of agents': ['agents-handler'],
  'From the first official SDK': ['sdk-1'],
  'From the second official SDK': ['sdk-2'],
  'From mcp-lite': ['mcp-lite'],
}

const written = (names: readonly string[], files: readonly string[]): string =>
  names.flatMap((name) => files.map((file) => readFileSync(join(import.meta.dirname, name, file), 'utf8'))).join('\n')

const sections = page.split(/^## /m).flatMap((section) => {
  const [title = ''] = section.split('\n')
  const names = folders[title]
  return names ? [{ title, names, rows: rowsOf(section) }] : []
})

test('every table is held to servers', () => {
  expect(sections.map(({ title }) => title)).toEqual(Object.keys(folders))
})

describe.each(sections)('$title', ({ names, rows }) => {
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
