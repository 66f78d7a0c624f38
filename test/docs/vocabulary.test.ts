/** Names and texts of the sources use the words of the field: `denied-words.ts` has those that they do not use. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Node, StringLiteral } from 'typescript/unstable/ast'
import { SyntaxKind } from 'typescript/unstable/ast'
import { API } from 'typescript/unstable/sync'
import { expect, test } from 'vitest'
import { deniedFunctionNames, deniedNames, deniedTexts } from './denied-words.ts'
import { root } from './pages.ts'

/** The folders that are checked. */
const areas = ['worker', 'durable-objects', 'cli', 'inspector', 'examples']

type Hit = { readonly word: string; readonly place: string; readonly say: string }

const isCapitalized = (word: string) => /^[A-Z]/.test(word)

/** What to say instead of a name. */
function lookUp(words: Readonly<Record<string, string>>): (name: string) => string | undefined {
  const exact = new Map(Object.entries(words))
  const inAnyCase = new Map(
    Object.entries(words)
      .filter(([word]) => !isCapitalized(word))
      .map(([word, say]) => [word.toLowerCase(), say]),
  )
  return (name) => exact.get(name) ?? inAnyCase.get(name.toLowerCase())
}
const insteadOfName = lookUp(deniedNames)
const insteadOfFunctionName = lookUp(deniedFunctionNames)

const functions: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.FunctionDeclaration,
  SyntaxKind.MethodDeclaration,
  SyntaxKind.MethodSignature,
])
/** These name what others have declared. */
const uses: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.PropertyAccessExpression,
  SyntaxKind.QualifiedName,
  SyntaxKind.ImportSpecifier,
  SyntaxKind.ExportSpecifier,
  SyntaxKind.MetaProperty,
])

/** Does a declaration name a function? A constant whose value is one does. */
function isFunction(node: Node): boolean {
  if (functions.has(node.kind)) return true
  const { initializer } = node as Node & { initializer?: Node }
  return (
    (node.kind === SyntaxKind.VariableDeclaration || node.kind === SyntaxKind.PropertyAssignment) &&
    (initializer?.kind === SyntaxKind.ArrowFunction || initializer?.kind === SyntaxKind.FunctionExpression)
  )
}

function declaredName(node: Node): string | undefined {
  if (uses.has(node.kind)) return undefined
  const { name } = node as Node & { name?: Node }
  const isName = name?.kind === SyntaxKind.Identifier || name?.kind === SyntaxKind.PrivateIdentifier
  return isName ? name.getText() : undefined
}

function textOf(node: Node): string | undefined {
  const isText =
    node.kind === SyntaxKind.StringLiteral ||
    node.kind === SyntaxKind.NoSubstitutionTemplateLiteral ||
    node.kind === SyntaxKind.TemplateHead ||
    node.kind === SyntaxKind.TemplateMiddle ||
    node.kind === SyntaxKind.TemplateTail
  return isText ? (node as StringLiteral).text : undefined
}

/** Every denied word that the sources contain. */
function findHits(): Hit[] {
  const files = areas
    .flatMap((area) => globSync(`${area}/**/*.ts`, { cwd: root }))
    .filter((path) => path !== join('worker', 'plugins', 'page', 'inspector', 'assets.ts'))
    .sort()
  const config = join(root, 'vocabulary.tsconfig.json')
  const text = JSON.stringify({ compilerOptions: { noResolve: true, noLib: true, types: [] }, files })
  const api = new API({
    cwd: root,
    fs: {
      readFile: (path) => (path === config ? text : undefined),
      fileExists: (path) => path === config || undefined,
    },
  })
  try {
    const [project] = api.updateSnapshot({ openProjects: [config] }).getProjects()
    return files.flatMap((file) => {
      const source = project?.program.getSourceFile(join(root, file))
      if (!source) throw new Error(`${file} is not compiled`)
      const hits: Hit[] = []
      const content = readFileSync(join(root, file), 'utf8')
      const add = (node: Node, word: string, say: string) => {
        const line = content.slice(0, node.getStart()).split('\n').length
        hits.push({ word, place: `${file}:${line}`, say })
      }
      const visit = (node: Node): void => {
        const name = declaredName(node)
        const word = name?.replace('#', '')
        const say = word && (insteadOfName(word) ?? (isFunction(node) ? insteadOfFunctionName(word) : undefined))
        if (word && say) add(node, word, say)
        const written = textOf(node)
        for (const denied of written?.trim().includes(' ') ? deniedTexts : []) {
          const [found] = denied.text.exec(written as string) ?? []
          if (found !== undefined) add(node, found.trim(), denied.say)
        }
        node.forEachChild(visit)
      }
      visit(source)
      return hits
    })
  } finally {
    api.close()
  }
}

test('names and texts use none of the denied words', () => {
  expect(findHits().map(({ word, place, say }) => `${place} ${word}: say ${say}`)).toEqual([])
})
