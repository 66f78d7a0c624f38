/** What every entry point exports, as Markdown, from its declarations and docstrings. */
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import {
  type FunctionDeclaration,
  type Node,
  SyntaxKind,
  type TypeAliasDeclaration,
  type VariableDeclaration,
} from 'typescript/unstable/ast'
import { API, type Checker, type Symbol as Named, type Project, SymbolFlags } from 'typescript/unstable/sync'

const root = resolve(import.meta.dirname, '../..')

/** The entry points of package.json, and the sources they are compiled from. */
export function entryPoints(): { name: string; source: string }[] {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    exports: Record<string, { default: string }>
  }
  const all = Object.entries(exports).map(([path, { default: built }]) => ({
    name: path.replace(/^\./, 'edgemcp'),
    source: built.replace(/^\.\/dist\//, '').replace(/\.js$/, '.ts'),
  }))
  // The command line is one more way to run it, and nothing to program with.
  return all.filter(({ source }) => source.startsWith('worker/'))
}

/** Reads the library with the compiler. @param use is given what runs in workerd, and what runs in Node */
export function withProjects<T>(use: (projects: readonly Project[]) => T): T {
  const api = new API({ cwd: root })
  try {
    const configurations = ['tsconfig.build.json', 'tsconfig.node.json'].map((name) => join(root, name))
    return use(api.updateSnapshot({ openProjects: configurations }).getProjects())
  } finally {
    api.close()
  }
}

export const reference = (): string =>
  withProjects((projects) => {
    const seen = new Map<string, string>()
    const parts = entryPoints().map(({ name, source }) => chapter(name, exportsOf(source, projects), seen))
    const list = entryPoints().map(({ name }) => `- [\`${name}\`](#${anchor(name)})`)
    return [list.join('\n'), ...parts].join('\n\n')
  })

export type Exports = { readonly symbols: readonly Named[]; readonly project: Project }

/** @param source from the root of the repository */
export function exportsOf(source: string, projects: readonly Project[]): Exports {
  const path = join(root, source)
  const project = projects.find(({ program }) => program.getSourceFile(path))
  const file = project?.program.getSourceFile(path)
  const module = file && project?.checker.getSymbolAtLocation(file)
  if (!project || !module) throw new Error(`${source} is no module`)
  const { checker } = project
  const symbols = checker
    .getExportsOfModule(module)
    .map((symbol) => (symbol.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol))
    .sort((a, b) => Number(isType(a)) - Number(isType(b)) || a.name.localeCompare(b.name))
  return { symbols, project }
}

const isType = ({ flags }: Named) => (flags & SymbolFlags.Value) === 0

function chapter(entry: string, { symbols, project }: Exports, seen: Map<string, string>): string {
  const ownNames = symbols.map((symbol) => {
    const [{ path, index } = { path: '', index: 0 }] = symbol.declarations
    const place = `${path} ${index}`
    const name = seen.get(place)
    // Some types are handed out by more than one entry point.
    if (name !== undefined) return `### ${symbol.name}\n\nAs in [\`${name}\`](#${anchor(name)}).`
    seen.set(place, entry)
    return section(symbol, project)
  })
  return [`## ${entry}`, ...ownNames].join('\n\n')
}

function section(symbol: Named, project: Project): string {
  const { checker } = project
  const declaration = symbol.declarations[0]?.resolve(project)
  if (!declaration) throw new Error(`${symbol.name} is not declared`)
  const members = membersOf(symbol, declaration, project)
  return [
    `### ${symbol.name}`,
    ...docOf(symbol, checker),
    ['```typescript', signature(symbol, declaration, project).replace(/^export /, ''), '```'].join('\n'),
    ...examplesOf(symbol, checker),
    ...(members.length > 0 ? [['| member | | |', '|---|---|---|', ...members].join('\n')] : []),
  ].join('\n\n')
}

/** What is written above it, and its tags. */
function docOf(symbol: Named, checker: Checker): string[] {
  const text = symbol.getDocumentationComment(checker).trim()
  const tags = tagsOf(symbol, checker).map(({ name, said }) => {
    return name === 'see' ? `- See <${said}>` : `- *${name}* ${prose(said)}`
  })
  return [prose(text), tags.join('\n')].filter((part) => part !== '')
}

const reported = new Set(['param', 'returns', 'throws', 'see'])

const tagsOf = (symbol: Named, checker: Checker) =>
  symbol
    .getJsDocTags(checker)
    .flatMap(({ name, text }) => (reported.has(name) ? [{ name, said: text?.trim() ?? '' }] : []))

const examplesOf = (symbol: Named, checker: Checker): string[] =>
  symbol
    .getJsDocTags(checker)
    .flatMap(({ name, text }) => (name === 'example' ? [['```typescript', text?.trim(), '```'].join('\n')] : []))

/** How it is called, or what it is made of, in the words of the source. */
function signature(symbol: Named, declaration: Node, { checker }: Project): string {
  switch (declaration.kind) {
    case SyntaxKind.FunctionDeclaration: {
      const { body } = declaration as FunctionDeclaration
      return cut(declaration, body)
    }
    case SyntaxKind.VariableDeclaration: {
      const { initializer, type } = declaration as VariableDeclaration
      if (type) return `const ${declaration.getText().split(' = ')[0]}`
      if (initializer?.kind === SyntaxKind.ArrowFunction) {
        const { body } = initializer as unknown as { body: Node }
        return `const ${cut(declaration, body).replace(/ =>$/, '')}`
      }
      const value = checker.getTypeOfSymbol(symbol)
      return `const ${symbol.name}: ${value ? checker.typeToString(value) : 'unknown'}`
    }
    case SyntaxKind.ClassDeclaration:
      return declaration.getText().split(' {\n')[0] ?? ''
    case SyntaxKind.InterfaceDeclaration:
      return declaration.getText().split(' {\n')[0] ?? ''
    default:
      return withoutComments(declaration.getText()).replace(/^export /, '')
  }
}

/** What stands in front of a body. */
const cut = (declaration: Node, body: Node | undefined): string => {
  const text = declaration.getText()
  const head = body ? text.slice(0, text.length - body.getText().length) : text
  return head.replace(/^export /, '').trim()
}

const withoutComments = (text: string) =>
  text
    .replace(/\/\*\*[\s\S]*?\*\//g, '')
    .replace(/^\s*\/\/.*$/gm, '')
    .replace(/\n\s*\n/g, '\n')

/** A row for each member that has something to say for itself. */
function membersOf(symbol: Named, declaration: Node, project: Project): string[] {
  const { checker } = project
  if (!(symbol.flags & (SymbolFlags.Interface | SymbolFlags.TypeAlias | SymbolFlags.Class))) return []
  if (declaration.kind === SyntaxKind.TypeAliasDeclaration) {
    const { type } = declaration as TypeAliasDeclaration
    if (type.kind !== SyntaxKind.TypeLiteral && type.kind !== SyntaxKind.IntersectionType) return []
  }
  const declared = checker.getDeclaredTypeOfSymbol(symbol)
  const isClass =
    declaration.kind === SyntaxKind.ClassDeclaration || declaration.kind === SyntaxKind.InterfaceDeclaration
  return checker.getPropertiesOfType(declared).flatMap((member) => {
    const node = member.declarations[0]?.resolve(project)
    // Of the platform's own, such as what an Error has.
    if (!node || member.name.includes('#') || node.getSourceFile().fileName.includes('node_modules') || isLib(node))
      return []
    const tags = tagsOf(member, checker).map(({ name, said }) =>
      name === 'see' ? `See <${said}>` : `*${name}* ${said}`,
    )
    const words = [member.getDocumentationComment(checker), ...tags].map((text) => text.trim())
    const text = words.filter(Boolean).join('. ').replace(/\.\. /g, '. ').replace(/\s+/g, ' ')
    if (text === '' && !isClass) return []
    return [`| \`${cell(member.name)}\` | \`${cell(typeOf(node))}\` | ${cell(text)} |`]
  })
}

const isLib = (node: Node) => /\/lib\.[\w.]+\.d\.ts$/.test(node.getSourceFile().fileName)

/** The type of a member as it is written: of a method, its parameters and result. */
function typeOf(node: Node): string {
  const text = withoutComments(node.getText()).replace(/\s+/g, ' ').trim()
  const { body, type, initializer } = node as unknown as { body?: Node; type?: Node; initializer?: Node }
  if (node.kind === SyntaxKind.MethodSignature || node.kind === SyntaxKind.MethodDeclaration) {
    const whole = body ? withoutComments(cut(node, body)).replace(/\s+/g, ' ').trim() : text
    return whole.replace(/^\w+\??/, '').replace(/;$/, '')
  }
  return type?.getText().replace(/\s+/g, ' ') ?? initializer?.getText() ?? ''
}

const cell = (text: string) => text.replaceAll('|', '\\|')

/** Docstrings break their lines by width; paragraphs are kept. */
const prose = (text: string) =>
  text
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.replace(/\s*\n\s*/g, ' '))
    .join('\n\n')

const anchor = (name: string) => name.toLowerCase().replace(/[^\w -]/g, '')
