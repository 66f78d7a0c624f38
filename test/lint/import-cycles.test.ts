/**
 * A module of a circle is evaluated before one that it needs, and a circle of types is two ideas that are one, or one in the wrong place. The
 * linter that finds circles takes a hundred times as long, and does not look at types.
 */
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '../..')

/** Circles that are left, with imports of types. Remove what does not exist any more, and add nothing. */
const left = [
  [
    'durable-objects/session/call-environment.ts',
    'durable-objects/session/deliver-event.ts',
    'durable-objects/session/expiry.ts',
    'durable-objects/session/input-requests.ts',
    'durable-objects/session/lifetime.ts',
    'durable-objects/session/registration.ts',
    'durable-objects/session/replies.ts',
    'durable-objects/session/session-host.ts',
    'durable-objects/session/session-parts.ts',
    'durable-objects/subscriptions/session-part.ts',
    'durable-objects/task/client-tasks.ts',
  ],
]

/** Statements that import modules of this repository. */
const statement = /^(?:import|export)\s+(type\s)?(?:[^'"`;]*?\sfrom\s+)?['"](\.[^'"]+)['"]/gm

type Import = { readonly path: string; readonly isType: boolean }

const importsOf = (path: string): readonly Import[] =>
  Array.from(readFileSync(join(root, path), 'utf8').matchAll(statement), ([, type, target = '']) => ({
    path: join(path, '..', target),
    isType: type !== undefined,
  }))

const files = globSync(
  '{worker,durable-objects,inspector,cli,create-edgemcp,scripts,bench,site,test,examples}/**/*.{ts,tsx}',
  { cwd: root, exclude: (name) => /(?:^|\/)(?:node_modules|dist)$/.test(name) },
)
const imports = new Map(files.map((path) => [path, importsOf(path)]))

const graphOf = (counts: (one: Import) => boolean) =>
  new Map([...imports].map(([path, all]) => [path, all.filter(counts).map((one) => one.path)]))

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

test('no module imports itself, also not through others', () => {
  const graph = graphOf(({ isType }) => !isType)
  expect([...graph.values()].flat().length).toBeGreaterThan(1000)
  expect(findCircles(graph)).toEqual([])
})

test('with imports of types, there are no circles besides those that are left', () => {
  expect(findCircles(graphOf(() => true))).toEqual(left)
})
