/**
 * Counts the casts (`x as T`) in the sources, and lists those without a reason: a comment on the cast's line, or on the line above
 * it, that says why the type holds. Fails when there are too many casts, or one without a reason. `as const` is no cast, and
 * `as unknown as T` is one.
 *
 * @example
 * npm run casts               # the casts without a reason, by file
 * npm run casts -- --all      # every cast
 */
import { globSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { AsExpression, Node, SourceFile } from 'typescript/unstable/ast'
import { SyntaxKind } from 'typescript/unstable/ast'
import { API } from 'typescript/unstable/sync'

const maxCasts = 115

/** Characters of a cast in the list: a longer one is cut at its start. */
const maxTextCharacters = 100

const root = resolve(import.meta.dirname, '..')

type Cast = { readonly file: string; readonly line: number; readonly text: string; readonly hasReason: boolean }

function casts(): Cast[] {
  const api = new API({ cwd: root })
  try {
    const configs = ['tsconfig.json', 'tsconfig.node.json'].map((path) => join(root, path))
    const projects = api.updateSnapshot({ openProjects: configs }).getProjects()
    return globSync('{worker,durable-objects}/**/*.ts', { cwd: root })
      .sort()
      .flatMap((file) => {
        const sources = projects.map((project) => project.program.getSourceFile(join(root, file)))
        const source = sources.find((candidate) => candidate !== undefined)
        if (!source) throw new Error(`${file} is in no project: add it to a tsconfig that this script reads`)
        return castsIn(file, source)
      })
  } finally {
    api.close()
  }
}

function castsIn(file: string, source: SourceFile): Cast[] {
  const lines = source.text.split('\n')
  const lineOf = (position: number) => source.text.slice(0, position).split('\n').length
  const found: Cast[] = []
  const visit = (node: Node): void => {
    if (isCast(node) && !isCast(node.parent)) {
      const line = lineOf(node.type.getStart(source))
      const isExplained = hasComment(lines[line - 1]) || isComment(lines[line - 2])
      found.push({ file, line, text: oneLine(node.getText(source)), hasReason: isExplained })
    }
    node.forEachChild(visit)
  }
  visit(source)
  return found
}

function isCast(node: Node): node is AsExpression {
  // The kind of the node determines its type.
  return node.kind === SyntaxKind.AsExpression && (node as AsExpression).type.getText() !== 'const'
}

/** A comment at the end of a line of code: after a space, so that a URL in a string does not count. */
const hasComment = (line = '') => /\s\/\/ \S|\/\*\* .*\*\//.test(line)
const isComment = (line = '') => /^\s*(?:\/\/|\/?\*)/.test(line)
const oneLine = (text: string) => {
  const line = text.replace(/\s+/g, ' ')
  return line.length > maxTextCharacters ? `…${line.slice(1 - maxTextCharacters)}` : line
}

const all = casts()
const unexplained = all.filter(({ hasReason }) => !hasReason)
for (const { file, line, text } of process.argv.includes('--all') ? all : unexplained) {
  process.stdout.write(`${file}:${line}  ${text}\n`)
}
const isOver = all.length > maxCasts
const verdict = isOver ? `OVER the limit of ${maxCasts}` : `of ${maxCasts}`
process.stdout.write(`${all.length} casts ${verdict}, ${unexplained.length} without a reason\n`)
if (isOver || unexplained.length > 0) process.exitCode = 1
