/**
 * Lists the longest functions and classes of worker/ and durable-objects/, in lines, and fails when one is longer than its limit.
 *
 * @example
 * npm run longest                  # ten of each
 * npm run longest -- --most 20     # twenty of each
 */
import { globSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { Identifier, Node } from 'typescript/unstable/ast'
import { SyntaxKind } from 'typescript/unstable/ast'
import { API } from 'typescript/unstable/sync'

const root = resolve(import.meta.dirname, '..')
const { values } = parseArgs({ options: { most: { type: 'string', default: '10' } } })

/** The maximum number of lines of a function and of a class. */
const maxLines = { functions: 70, classes: 240 }

type Found = { readonly name: string; readonly file: string; readonly line: number; readonly lines: number }

const functionKinds = new Set([
  SyntaxKind.ArrowFunction,
  SyntaxKind.FunctionExpression,
  SyntaxKind.FunctionDeclaration,
  SyntaxKind.MethodDeclaration,
  SyntaxKind.Constructor,
  SyntaxKind.GetAccessor,
  SyntaxKind.SetAccessor,
])
const classKinds = new Set([SyntaxKind.ClassDeclaration, SyntaxKind.ClassExpression])

const functions: Found[] = []
const classes: Found[] = []
const api = new API({ cwd: root })
try {
  const configs = ['tsconfig.json', 'tsconfig.node.json'].map((path) => join(root, path))
  const projects = api.updateSnapshot({ openProjects: configs }).getProjects()
  const files = globSync('{worker,durable-objects}/**/*.ts', { cwd: root }).filter(
    (file) => !file.endsWith('assets.ts'),
  )
  for (const file of files) {
    const source = projects.map((project) => project.program.getSourceFile(join(root, file))).find(Boolean)
    if (!source) throw new Error(`${file} is in no project: add it to a tsconfig that this script reads`)
    const text = source.getText()
    const lineOf = (position: number) => text.slice(0, position - source.getStart()).split('\n').length
    const visit = (node: Node): void => {
      const list = functionKinds.has(node.kind) ? functions : classKinds.has(node.kind) ? classes : undefined
      if (list) {
        // Every function and class has an optional name.
        const { name } = node as Node & { name?: Identifier }
        const line = lineOf(node.getStart())
        list.push({ name: name?.getText() ?? 'anonymous', file, line, lines: lineOf(node.getEnd()) - line + 1 })
      }
      node.forEachChild(visit)
    }
    visit(source)
  }
} finally {
  api.close()
}

for (const [kind, list, limit] of [
  ['functions', functions, maxLines.functions],
  ['classes', classes, maxLines.classes],
] as const) {
  console.log(`${kind}: ${list.length}`)
  const tooLong = list.filter(({ lines }) => lines > limit).length
  const longest = list.sort((a, b) => b.lines - a.lines).slice(0, Math.max(Number(values.most), tooLong))
  for (const { name, file, line, lines } of longest) {
    const verdict = lines > limit ? `  OVER the limit of ${limit} lines` : ''
    console.log(`${String(lines).padStart(5)}  ${name.padEnd(24)} ${file}:${line}${verdict}`)
  }
  if (tooLong > 0) process.exitCode = 1
}
