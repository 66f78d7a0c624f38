/**
 * A module of a circle is evaluated before one that it needs, and a circle of types is two ideas that are one, or one in the wrong place. The
 * linter that finds circles takes a hundred times as long, and does not look at types.
 */
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '../..')

/** Statements that import modules of this repository. */
const statement = /^(?:import|export)\s+(?:[^'"`;]*?\sfrom\s+)?['"](\.[^'"]+)['"]/gm

const importsOf = (path: string): readonly string[] =>
  Array.from(readFileSync(join(root, path), 'utf8').matchAll(statement), ([, target = '']) => join(path, '..', target))

const files = globSync(
  '{worker,durable-objects,inspector,cli,create-edgemcp,scripts,bench,site,test,examples}/**/*.{ts,tsx}',
  { cwd: root, exclude: (name) => /(?:^|\/)(?:node_modules|dist)$/.test(name) },
)
const imports = new Map(files.map((path) => [path, importsOf(path)]))

/** Returns the circles, sorted: all files that import each other, also through others. */
function findCircles(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const circles: string[][] = []
  const order = new Map<string, number>()
  /** Files whose circle is not complete. */
  const open: string[] = []
  /** Returns the number of the first open file that a file imports, also through others. */
  const visit = (path: string): number => {
    const own = order.size
    order.set(path, own)
    open.push(path)
    const targets = graph.get(path) ?? []
    const first = targets.reduce((least, target) => {
      const known = order.get(target)
      if (known === undefined) return Math.min(least, visit(target))
      return open.includes(target) ? Math.min(least, known) : least
    }, own)
    if (first < own) return first
    const circle = open.splice(open.indexOf(path))
    if (circle.length > 1 || targets.includes(path)) circles.push(circle.sort())
    return first
  }
  for (const path of graph.keys()) if (!order.has(path)) visit(path)
  return circles.sort(([one = ''], [other = '']) => (one < other ? -1 : 1))
}

test('finds circles', () => {
  const graph = new Map([
    ['a', ['b', 'c']],
    ['b', ['c']],
    ['c', ['d']],
    ['d', ['b', 'e', 'g']],
    ['e', ['f']],
    ['f', ['e']],
    ['h', ['h']],
  ])
  expect(findCircles(graph)).toEqual([['b', 'c', 'd'], ['e', 'f'], ['h']])
})

test('no module imports itself, also not through others, nor for its types', () => {
  expect([...imports.values()].flat().length).toBeGreaterThan(1000)
  expect(findCircles(imports)).toEqual([])
})
