/** A module of a circle is evaluated before one that it needs. The linter that finds circles takes a hundred times as long. */
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '../..')

/** Statements that import modules of this repository, without those that import types only. */
const statement = /^(?:import|export)\s+(?!type\s)(?:[^'"`;]*?\sfrom\s+)?['"](\.[^'"]+)['"]/gm

/** Returns the paths that a file imports. */
const importsOf = (path: string): string[] =>
  Array.from(readFileSync(join(root, path), 'utf8').matchAll(statement), ([, target = '']) => join(path, '..', target))

/** Returns the circles: files that import each other, also through others. */
function findCircles(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const circles: string[][] = []
  const done = new Set<string>()
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path)
    if (start >= 0) circles.push([...trail.slice(start), path])
    if (start >= 0 || done.has(path)) return
    for (const target of graph.get(path) ?? []) visit(target, [...trail, path])
    done.add(path)
  }
  for (const path of graph.keys()) visit(path, [])
  return circles
}

test('finds circles', () => {
  const graph = new Map([
    ['a', ['b', 'c']],
    ['b', ['c']],
    ['c', ['d']],
    ['d', ['b']],
  ])
  expect(findCircles(graph)).toEqual([['b', 'c', 'd', 'b']])
})

test('no module imports itself, also not through others', () => {
  const files = globSync(
    '{worker,durable-objects,inspector,cli,create-edgemcp,scripts,bench,site,test,examples}/**/*.{ts,tsx}',
    {
      cwd: root,
      exclude: (name) => /(?:^|\/)(?:node_modules|dist)$/.test(name),
    },
  )
  const graph = new Map(files.map((path) => [path, importsOf(path)]))
  expect([...graph.values()].flat().length).toBeGreaterThan(1000)
  expect(findCircles(graph)).toEqual([])
})
