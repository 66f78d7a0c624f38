import { type Node, SyntaxKind } from 'typescript/unstable/ast'
import { type Checker, type Symbol as Named, type Project, SignatureKind, SymbolFlags } from 'typescript/unstable/sync'
import { expect, test } from 'vitest'
import { entryPoints, exportsOf, withProjects } from '../../scripts/docs/reference.ts'

type Documented = {
  readonly name: string
  readonly text: string
  /** Names of the tags of the docstring. */
  readonly tags: readonly string[]
  readonly isMember: boolean
  /** Whether it is a member that may be left out. */
  readonly isOptional: boolean
  readonly isFunction: boolean
  /** Whether the body of the function has a `throw` of its own, outside of nested functions. */
  readonly hasThrow: boolean
}

/** An export and its members. The specification describes the members of the types of MCP. */
function documented(name: string, symbol: Named, project: Project): Documented[] {
  const own = describe(name, symbol, project, false)
  const declaration = symbol.declarations[0]?.resolve(project)
  const hasMembers = (symbol.flags & (SymbolFlags.Interface | SymbolFlags.TypeAlias | SymbolFlags.Class)) !== 0
  if (!declaration || !hasMembers || isOfProtocol(declaration) || isDurableObject(declaration)) return [own]
  const { checker } = project
  const members = checker
    .getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol))
    .filter((member) => isPublicMember(member, project))
    .map((member) => describe(`${name}.${member.name}`, member, project, true))
  return [own, ...members]
}

function describe(name: string, symbol: Named, project: Project, isMember: boolean): Documented {
  const { checker } = project
  const tags = symbol.getJsDocTags(checker)
  const nodes = symbol.declarations.flatMap((declaration) => declaration.resolve(project) ?? [])
  return {
    name,
    // The compiler puts the texts of overloads one after another.
    text: symbol.getDocumentationComment(checker).trim(),
    tags: tags.map((tag) => tag.name),
    isMember,
    isOptional: isMember && nodes.some(isOptional),
    isFunction: isFunction(symbol, checker),
    hasThrow: nodes.some((node) => hasThrow(bodyOf(node))),
  }
}

function isFunction(symbol: Named, checker: Checker): boolean {
  const type = symbol.flags & SymbolFlags.Value ? checker.getTypeOfSymbol(symbol) : undefined
  return type !== undefined && checker.getSignaturesOfType(type, SignatureKind.Call).length > 0
}

/** Whether a declaration has a question mark. A member of the type `undefined` cannot be given. */
function isOptional(node: Node): boolean {
  const { questionToken, postfixToken, type } = node as unknown as Record<string, Node | undefined>
  return (questionToken ?? postfixToken)?.kind === SyntaxKind.QuestionToken && type?.getText() !== 'undefined'
}

const isOfProtocol = (node: Node) => node.getSourceFile().fileName.endsWith('worker/protocol/types.ts')

/** The platform and the library call its methods. */
const isDurableObject = (node: Node) => / extends DurableObject\b/.test(node.getText().split('\n')[0] ?? '')

function isPublicMember(member: Named, project: Project): boolean {
  const node = member.declarations[0]?.resolve(project)
  if (!node || isOfProtocol(node) || member.name.includes('#') || member.name.startsWith('__')) return false
  return !/node_modules|\/lib\.[\w.]+\.d\.ts$/.test(node.getSourceFile().fileName)
}

/** The body of a function, or of the arrow function that a constant holds. */
function bodyOf(node: Node): Node | undefined {
  const { body, initializer } = node as unknown as { body?: Node; initializer?: Node }
  return body ?? (initializer?.kind === SyntaxKind.ArrowFunction ? bodyOf(initializer) : undefined)
}

const functions = new Set([
  SyntaxKind.ArrowFunction,
  SyntaxKind.FunctionDeclaration,
  SyntaxKind.FunctionExpression,
  SyntaxKind.MethodDeclaration,
  SyntaxKind.GetAccessor,
  SyntaxKind.Constructor,
])

function hasThrow(node: Node | undefined): boolean {
  if (!node) return false
  if (node.kind === SyntaxKind.ThrowStatement) return true
  let found = false
  node.forEachChild((child) => {
    found ||= !functions.has(child.kind) && hasThrow(child)
  })
  return found
}

const all = withProjects((projects) =>
  entryPoints().flatMap(({ name: entry, source }) => {
    const { exports, project } = exportsOf(source, projects)
    return exports.flatMap(({ name, symbol }) => documented(`${entry} ${name}`, symbol, project))
  }),
)

const namesOf = (list: readonly Documented[]) => [...new Set(list.map(({ name }) => name))].sort()

test('reads the exports and their members', () => {
  const names = namesOf(all)
  expect(names).toContain('edgemcp serve')
  expect(names).toContain('edgemcp Context.elicit')
  expect(names).toContain('edgemcp/auth BearerOptions.tokenCacheMs')
  expect(names).toContain('edgemcp ServeOptions.origins')
  expect(all.find(({ name }) => name === 'edgemcp ServeOptions.path')).toMatchObject({ isOptional: true })
  expect(all.find(({ name }) => name === 'edgemcp Server.use')).toMatchObject({ isFunction: true, hasThrow: true })
})

test('every export and every member has a docstring of whole sentences', () => {
  const isWhole = ({ text }: Documented) => /^[A-Z`]/.test(text) && text.endsWith('.')
  expect(namesOf(all.filter((one) => !isWhole(one)))).toEqual([])
})

test('the docstring of every option names the default', () => {
  const isOption = ({ name, isOptional }: Documented) => isOptional && /(?:Options|Definition)\.\w+$/.test(name)
  expect(namesOf(all.filter((one) => isOption(one) && !/Default\b/.test(one.text)))).toEqual([])
})

test('the docstring of every export begins with a verb in the third person', () => {
  const hasVerb = ({ text, isMember }: Documented) => isMember || /^[A-Z][a-z]+s\b/.test(text)
  expect(namesOf(all.filter((one) => !hasVerb(one)))).toEqual([])
})

test('every exported function has an example', () => {
  const needed = all.filter(({ isMember, isFunction }) => isFunction && !isMember)
  expect(namesOf(needed.filter(({ tags }) => !tags.includes('example')))).toEqual([])
})

test('every function with a throw statement has a @throws tag', () => {
  expect(namesOf(all.filter(({ hasThrow, tags }) => hasThrow && !tags.includes('throws')))).toEqual([])
})

test('every method of ctx, which checks its arguments, has a @throws tag', () => {
  const methods = all.filter(({ name, isFunction }) => isFunction && name.startsWith('edgemcp Context.'))
  expect(methods.length).toBeGreaterThan(15)
  expect(namesOf(methods.filter(({ tags }) => !tags.includes('throws')))).toEqual([])
})
