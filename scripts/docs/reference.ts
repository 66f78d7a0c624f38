/** The pages of docs/reference/api: what each entry point exports, from its declarations and docstrings. */
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import {
  type ExpressionWithTypeArguments,
  type FunctionDeclaration,
  type InterfaceDeclaration,
  type IntersectionTypeNode,
  type Node,
  type SourceFile,
  SyntaxKind,
  type TypeAliasDeclaration,
  type TypeReferenceNode,
  type VariableDeclaration,
} from 'typescript/unstable/ast'
import { API, type Checker, type Symbol as Named, type Project, SymbolFlags } from 'typescript/unstable/sync'

const root = resolve(import.meta.dirname, '../..')

/** The guide of each entry point: a path from docs/, and its title. */
const guides: Readonly<Record<string, readonly [path: string, title: string]>> = {
  edgemcp: ['guides/tools.md', 'Tools'],
  'edgemcp/apps': ['guides/apps.md', 'Apps'],
  'edgemcp/audit': ['guides/audit.md', 'Audit log'],
  'edgemcp/auth': ['guides/authentication.md', 'Authentication'],
  'edgemcp/compose': ['guides/composing.md', 'Composition'],
  'edgemcp/extensions': ['guides/extensions.md', 'Extensions'],
  'edgemcp/inspector': ['guides/inspector.md', 'Inspector and page'],
  'edgemcp/json-schema': ['guides/schemas.md', 'Schemas'],
  'edgemcp/rate-limit': ['guides/rate-limits.md', 'Rate limits'],
  'edgemcp/observe': ['guides/observability.md', 'Observability'],
  'edgemcp/openapi': ['guides/openapi.md', 'OpenAPI'],
  'edgemcp/page': ['guides/inspector.md', 'Inspector and page'],
  'edgemcp/sampling': ['guides/elicitation.md', 'Elicitation and sampling'],
  'edgemcp/skills': ['guides/skills.md', 'Skills'],
  'edgemcp/state': ['guides/state.md', 'State'],
  'edgemcp/tasks': ['guides/tasks.md', 'Tasks'],
  'edgemcp/subscriptions': ['guides/subscriptions.md', 'Subscriptions'],
  'edgemcp/testing': ['guides/testing.md', 'Testing'],
  'edgemcp/testing/node': ['guides/testing.md', 'Testing'],
  'edgemcp/testing/timed': ['guides/testing.md', 'Testing'],
  'edgemcp/testing/workers': ['guides/testing.md', 'Testing'],
}

/** Types of MCP messages are declared here. The specification describes their members. */
const protocolTypes = /worker\/protocol\/types\.ts$/

/** What plugins, interceptors and an `Auth` of one's own are made of is declared here. */
const pluginTypes =
  /worker\/(?:plugin|request-hooks|declarations\/(?:declarations|interceptor|outcome)|engine\/methods\/method)\.ts$/

export type EntryPoint = { readonly name: string; readonly source: string }

/** The entry points of package.json, and the sources they are compiled from. */
export function entryPoints(): EntryPoint[] {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    exports: Record<string, { default: string }>
  }
  const all = Object.entries(exports).map(([path, { default: built }]) => ({
    name: path.replace(/^\./, 'edgemcp'),
    source: built.replace(/^\.\/dist\//, '').replace(/\.js$/, '.ts'),
  }))
  // The command line exports nothing.
  return all.filter(({ source }) => source.startsWith('worker/'))
}

/** The file of an entry point in docs/reference/api. */
export const fileOf = (entry: string) => `${entry.replace(/^edgemcp\//, '').replaceAll('/', '-')}.md`

/** Reads the library with the compiler. @param use gets the project for workerd, and the project for Node */
export function withProjects<T>(use: (projects: readonly Project[]) => T): T {
  const api = new API({ cwd: root })
  try {
    const configurations = ['tsconfig.build.json', 'tsconfig.node.json'].map((name) => join(root, name))
    return use(api.updateSnapshot({ openProjects: configurations }).getProjects())
  } finally {
    api.close()
  }
}

/** What an entry point exports, under the names that it exports. */
export type Exports = {
  readonly exports: readonly { readonly name: string; readonly symbol: Named }[]
  readonly file: SourceFile
  readonly project: Project
}

/** @param source from the root of the repository */
export function exportsOf(source: string, projects: readonly Project[]): Exports {
  const path = join(root, source)
  const project = projects.find(({ program }) => program.getSourceFile(path))
  const file = project?.program.getSourceFile(path)
  const module = file && project?.checker.getSymbolAtLocation(file)
  if (!project || !module) throw new Error(`${source} is not a module`)
  const { checker } = project
  const exports = checker
    .getExportsOfModule(module)
    .map((symbol) => ({
      name: symbol.name,
      symbol: symbol.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol,
    }))
    .sort((a, b) => a.name.localeCompare(b.name))
  return { exports, file, project }
}

/** An export, and the page that describes it. */
type Entry = {
  readonly name: string
  readonly symbol: Named
  readonly declaration: Node
  readonly project: Project
  readonly file: string
  readonly group: Group
  /** A type that exported types consist of, which cannot be imported. */
  readonly isInternal: boolean
  anchor: string
}
type Group = 'value' | 'type' | 'plugin' | 'alias' | 'protocol'

type Page = { readonly entry: string; readonly exports: Exports; readonly own: Entry[]; readonly others: Entry[] }

/** The pages by path from the root of the repository. */
export const reference = (): Map<string, string> =>
  withProjects((projects) => {
    const pages = readPages(projects)
    const texts = pages.map((page): [string, string] => [
      `docs/reference/api/${fileOf(page.entry)}`,
      pageText(page, pages),
    ])
    return new Map([['docs/reference/api/index.md', indexText(pages)], ...texts])
  })

/** An export of several entry points is described on the page of the first. */
function readPages(projects: readonly Project[]): Page[] {
  const described = new Map<string, Entry>()
  const pages: Page[] = []
  for (const { name: entry, source } of entryPoints()) {
    const exports = exportsOf(source, projects)
    const page: Page = { entry, exports, own: [], others: [] }
    for (const { name, symbol } of exports.exports) {
      const place = placeOf(symbol)
      const known = described.get(place)
      if (known) {
        page.others.push(known)
        continue
      }
      const declaration = symbol.declarations[0]?.resolve(exports.project)
      if (!declaration) throw new Error(`${name} is not declared`)
      const group = groupOf(symbol, declaration, exports.project)
      const added = {
        name,
        symbol,
        declaration,
        project: exports.project,
        file: fileOf(entry),
        group,
        isInternal: false,
        anchor: '',
      }
      described.set(place, added)
      page.own.push(added)
    }
    pages.push(page)
  }
  // What is exported anywhere is described there, so these come after all exports.
  const uses = countBases(pages.flatMap(({ own }) => own))
  for (const page of pages) {
    for (const user of page.own) addInternal(user, page, described, uses)
    page.own.sort((a, b) => a.name.localeCompare(b.name))
    const taken = new Set(groupTitles.map(([, title]) => anchorOf(title)))
    for (const added of [...sectionsOf(page), ...page.own.filter(({ group }) => group === 'alias')]) {
      added.anchor = freeAnchor(anchorOf(added.name), taken)
      taken.add(added.anchor)
    }
  }
  return pages
}

/** How many types take members from a type, by its place. */
function countBases(entries: readonly Entry[]): Map<string, number> {
  const uses = new Map<string, number>()
  for (const { declaration, project } of entries) {
    for (const reference of basesIn(declaration).flatMap(referencesIn)) {
      const place = placeOf(targetOf(reference, project))
      uses.set(place, (uses.get(place) ?? 0) + 1)
    }
  }
  return uses
}

/** Adds the types that several types take members from, and those that options consist of, if they are not exported. */
function addInternal(
  { name, declaration, project, file }: Entry,
  page: Page,
  described: Map<string, Entry>,
  uses: ReadonlyMap<string, number>,
): void {
  const bases = basesIn(declaration).flatMap(referencesIn)
  const references = /(?:Options|Definition)$/.test(name) ? referencesIn(declaration) : bases
  for (const reference of references) {
    const symbol = targetOf(reference, project)
    const place = placeOf(symbol)
    const found = symbol?.declarations[0]?.resolve(project)
    if (!symbol || !found || described.has(place) || isOfPlatform(found) || !hasMembers(found)) continue
    const isBase = bases.some((base) => base.pos === reference.pos)
    if (groupOf(symbol, found, project) !== 'type' || (isBase && (uses.get(place) ?? 0) < 2)) continue
    const group = 'type' as const
    const added = { name: symbol.name, symbol, declaration: found, project, file, group, isInternal: true, anchor: '' }
    described.set(place, added)
    // The loop over the page comes to it as well.
    page.own.push(added)
  }
}

function targetOf(reference: Node, { checker }: Project): Named | undefined {
  const named = checker.getSymbolAtLocation(reference)
  return named && named.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(named) : named
}

function placeOf(symbol: Named | undefined): string {
  const [{ path, index } = { path: '', index: 0 }] = symbol?.declarations ?? []
  return `${path} ${index}`
}

/** The names of types in a declaration. */
function referencesIn(node: Node): Node[] {
  const names: Node[] = []
  const visit = (child: Node): void => {
    if (child.kind === SyntaxKind.TypeReference) names.push((child as TypeReferenceNode).typeName)
    if (child.kind === SyntaxKind.ExpressionWithTypeArguments) {
      names.push((child as ExpressionWithTypeArguments).expression)
    }
    child.forEachChild(visit)
  }
  visit(node)
  return names
}

/** The types that a declaration takes members from. */
function basesIn(declaration: Node): Node[] {
  const { heritageClauses } = declaration as InterfaceDeclaration
  if (heritageClauses && declaration.kind === SyntaxKind.InterfaceDeclaration) return [...heritageClauses]
  const { type } = declaration as TypeAliasDeclaration
  if (declaration.kind !== SyntaxKind.TypeAliasDeclaration || type?.kind !== SyntaxKind.IntersectionType) return []
  return [...(type as IntersectionTypeNode).types].filter(({ kind }) => kind !== SyntaxKind.TypeLiteral)
}

function groupOf(symbol: Named, declaration: Node, { checker }: Project): Group {
  const { fileName } = declaration.getSourceFile()
  if (symbol.flags & SymbolFlags.Value) return 'value'
  if (protocolTypes.test(fileName)) return 'protocol'
  if (!hasMembers(declaration) && symbol.getJsDocTags(checker).length === 0) return 'alias'
  return pluginTypes.test(fileName) ? 'plugin' : 'type'
}

/** Whether a type is a list of members, whose description takes a section. */
function hasMembers(declaration: Node): boolean {
  if (declaration.kind === SyntaxKind.InterfaceDeclaration) {
    const kinds = [SyntaxKind.PropertySignature, SyntaxKind.MethodSignature]
    return [...(declaration as InterfaceDeclaration).members].some(({ kind }) => kinds.includes(kind))
  }
  const { type } = declaration as TypeAliasDeclaration
  if (type?.kind === SyntaxKind.IntersectionType) {
    return [...(type as IntersectionTypeNode).types].some(({ kind }) => kind === SyntaxKind.TypeLiteral)
  }
  return type?.kind === SyntaxKind.TypeLiteral
}

const groupTitles: readonly (readonly [Group, string])[] = [
  ['value', 'Functions and classes'],
  ['type', 'Types'],
  ['plugin', 'Types for plugins'],
]

/** The exports that have a heading, in the order of the page. */
const sectionsOf = ({ own }: Page): Entry[] =>
  groupTitles.flatMap(([group]) => own.filter((one) => one.group === group))

const anchorOf = (title: string) =>
  title
    .toLowerCase()
    .replace(/[^\w -]/g, '')
    .replaceAll(' ', '-')

function freeAnchor(wanted: string, taken: ReadonlySet<string>): string {
  if (!taken.has(wanted)) return wanted
  let number = 1
  while (taken.has(`${wanted}-${number}`)) number += 1
  return `${wanted}-${number}`
}

const mark = '<!-- npm run docs writes this page from the docstrings of the sources. -->'

function indexText(pages: readonly Page[]): string {
  const rows = pages.map(({ entry, exports }) => {
    const [path = '', title = ''] = guides[entry] ?? []
    const guide = path && `[${title}](../../${path})`
    return `| [\`${entry}\`](${fileOf(entry)}) | ${cell(descriptionOf(exports.file))} | ${guide} |`
  })
  return [
    '# API',
    mark,
    'Each entry point has a page with everything that it exports. Import only the entry points that you use: the others do not become part of your bundle.',
    ['| import | contents | guide |', '|---|---|---|', ...rows].join('\n'),
    'All options of `createServer`, `serve`, tools, resources and prompts are also in [Options](../options.md), all limits in [Limits](../limits.md).',
    '',
  ]
    .join('\n\n')
    .trimEnd()
    .concat('\n')
}

function pageText(page: Page, pages: readonly Page[]): string {
  const { entry, exports, own, others } = page
  const values = own.filter(({ group }) => group === 'value').map(({ name }) => name)
  const [path = '', title = ''] = guides[entry] ?? []
  const links = new Links(page, pages)
  const parts = [
    `# ${entry}`,
    mark,
    descriptionOf(exports.file),
    ...(path ? [`Guide: [${title}](../../${path})`] : []),
    ...importText(values, entry),
    ...groupTitles.flatMap(([group, heading]) => {
      const members = own.filter((one) => one.group === group)
      return members.length > 0 ? [`## ${heading}`, ...members.map((one) => section(one, links))] : []
    }),
    ...aliasSection(own, links),
    ...protocolSection(own),
    ...otherSection(others, links),
  ]
  return `${parts.join('\n\n')}\n`
}

function importText(names: readonly string[], entry: string): string[] {
  const line = `import { ${names.join(', ')} } from '${entry}'`
  return names.length > 0 && line.length <= 120 ? [code(line)] : []
}

/** Types without members of their own are rows of one table. */
function aliasSection(own: readonly Entry[], links: Links): string[] {
  const rows = own
    .filter(({ group }) => group === 'alias')
    .map((one) => {
      const head = headOfAlias(one.declaration).replace(/^(?:type|interface) /, '')
      const value = aliasText(one.declaration)
        .slice(headOfAlias(one.declaration).length)
        .replace(/^\s*=[\s|]*/, '')
      const description = docOf(one.symbol, one.project.checker).join(' ')
      return `| <a id="${one.anchor}"></a>\`${cell(head)}\` | ${links.type(value.replace(/\s+/g, ' '), one.name)} | ${cell(description)} |`
    })
  if (rows.length === 0) return []
  return ['## Other types', ['| type | definition | description |', '|---|---|---|', ...rows].join('\n')]
}

/** Types of MCP have no sections: the specification describes their members. */
function protocolSection(own: readonly Entry[]): string[] {
  const types = own.filter(({ group }) => group === 'protocol')
  if (types.length === 0) return []
  const names = types.map(({ name }) => `\`${name}\``).join(', ')
  return [
    '## Types of MCP',
    `These types have the names and members of the [schema of MCP](https://modelcontextprotocol.io/specification/2026-07-28/schema): ${names}.`,
  ]
}

function otherSection(others: readonly Entry[], links: Links): string[] {
  if (others.length === 0) return []
  return ['## Also exported', others.map((one) => links.to(one)).join(', ')]
}

/** Links from one page to the sections of all pages. */
class Links {
  readonly #file: string
  readonly #entries: ReadonlyMap<string, Entry>

  constructor({ entry, own, others }: Page, pages: readonly Page[]) {
    this.#file = fileOf(entry)
    // A name means the export of this page before one of another page.
    const all = [...pages.flatMap((page) => page.own), ...others, ...own]
    this.#entries = new Map(all.map((one) => [one.name, one]))
  }

  to(one: Entry, text = one.name): string {
    if (one.group === 'protocol') return `\`${text}\``
    return `[\`${text}\`](${one.file === this.#file ? '' : one.file}#${one.anchor})`
  }

  /** The exports that a piece of code names. @param isAny also those that have no section */
  namedIn(text: string, except: string, isAny = false): Entry[] {
    const words = new Set(text.replace(/'[^']*'|\/\/.*$/gm, '').match(/\b[A-Z]\w+\b/g))
    return [...words].flatMap((word) => {
      const one = word === except ? undefined : this.#entries.get(word)
      return one && (isAny || one.group !== 'protocol') ? [one] : []
    })
  }

  /** The export that declares a member. */
  declaring(member: Node): Entry | undefined {
    return [...this.#entries.values()].find(({ declaration }) => isWithin(member, declaration))
  }

  /** A type as code, with a link if it names one export. */
  type(text: string, within: string): string {
    if (text === '') return ''
    const named = this.namedIn(text, within)
    const [one] = named
    return cell(one && named.length === 1 ? this.to(one, text) : `\`${text}\``)
  }
}

function section(one: Entry, links: Links): string {
  const { name, symbol, declaration, project } = one
  const { checker } = project
  const members = membersOf(one, links)
  const signature = members.length > 0 && isLiteral(declaration) ? '' : signatureOf(one)
  const bases = basesOf(declaration).filter((base) => links.namedIn(base, name, true).length > 0)
  const rows = members.map(
    (member) => `| \`${cell(member.name)}\` | ${links.type(member.type, name)} | ${cell(member.text)} |`,
  )
  const named = rows.length > 0 ? [] : links.namedIn(signature, name)
  return [
    `### ${name}`,
    ...(one.isInternal ? ['*Not exported: part of exported types.*'] : []),
    ...docOf(symbol, checker),
    ...(signature === '' ? [] : [code(signature)]),
    ...(bases.length > 0 ? [`Also has the members of ${bases.map((base) => links.type(base, name)).join(', ')}.`] : []),
    ...(named.length > 0 ? [`Types: ${named.map((other) => links.to(other)).join(', ')}.`] : []),
    ...(rows.length > 0 ? [['| member | type | description |', '|---|---|---|', ...rows].join('\n')] : []),
    ...examplesOf(symbol, checker),
  ].join('\n\n')
}

/** The comment at the beginning of a module, without the name of the entry point. */
function descriptionOf(file: SourceFile): string {
  const [, comment = ''] = /^\/\*\*([\s\S]*?)\*\//.exec(file.text) ?? []
  const lines = comment
    .replace(/^\s*\* ?/gm, '')
    .trim()
    .split(/^@/m)
  const text = prose((lines[0] ?? '').trim()).replace(/^edgemcp\S*: /, '')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** The docstring, and its tags. */
function docOf(symbol: Named, checker: Checker): string[] {
  const text = prose(symbol.getDocumentationComment(checker).trim())
  const tags = tagsOf(symbol, checker).map(({ name, text: value }) => `- ${tagText(name, value)}`)
  return [text, tags.join('\n')].filter((part) => part !== '')
}

const tagTitles: Readonly<Record<string, string>> = { param: 'Parameter', returns: 'Returns', throws: 'Throws' }

function tagText(name: string, value: string): string {
  if (name === 'see') return `See <${value}>`
  const [first = '', ...others] = value.split(' ')
  return name === 'param' ? `Parameter \`${first}\`: ${prose(others.join(' '))}` : `${tagTitles[name]}: ${prose(value)}`
}

const tagsOf = (symbol: Named, checker: Checker) =>
  symbol
    .getJsDocTags(checker)
    .flatMap(({ name, text }) => (name === 'see' || name in tagTitles ? [{ name, text: text?.trim() ?? '' }] : []))

const examplesOf = (symbol: Named, checker: Checker): string[] =>
  symbol.getJsDocTags(checker).flatMap(({ name, text }) => (name === 'example' ? [code(text?.trim() ?? '')] : []))

/** How it is called, or what it consists of, as in the source. */
function signatureOf({ name, symbol, declaration, project: { checker } }: Entry): string {
  if (declaration.kind === SyntaxKind.TypeAliasDeclaration && hasMembers(declaration)) return headOf(declaration)
  switch (declaration.kind) {
    case SyntaxKind.FunctionDeclaration:
      return cut(declaration, (declaration as FunctionDeclaration).body)
    case SyntaxKind.VariableDeclaration: {
      const { initializer, type } = declaration as VariableDeclaration
      if (type) return `const ${declaration.getText().split(' = ')[0]}`
      if (initializer?.kind === SyntaxKind.ArrowFunction) {
        const { body } = initializer as unknown as { body: Node }
        return `const ${cut(declaration, body).replace(/ =>$/, '')}`
      }
      const value = checker.getTypeOfSymbol(symbol)
      return `const ${name}: ${value ? checker.typeToString(value) : 'unknown'}`
    }
    case SyntaxKind.ClassDeclaration:
      return signatureHead(declaration)
        .replace(/^class \w+/, `class ${name}`)
        .replace(/ implements .*$/s, '')
    case SyntaxKind.InterfaceDeclaration:
      return signatureHead(declaration)
    default:
      return aliasText(declaration)
  }
}

/** Types that are computed from others are named, not repeated. */
function aliasText(declaration: Node): string {
  const { type } = declaration as TypeAliasDeclaration
  const isComputed = type?.kind === SyntaxKind.ConditionalType || type?.kind === SyntaxKind.MappedType
  if (declaration.kind === SyntaxKind.InterfaceDeclaration) return signatureHead(declaration)
  return isComputed ? headOf(declaration) : exported(withoutComments(declaration.getText()))
}

const headOfAlias = (declaration: Node) =>
  declaration.kind === SyntaxKind.InterfaceDeclaration ? signatureHead(declaration) : headOf(declaration)

/** A type with its parameters, without what it consists of. */
function headOf(declaration: Node): string {
  const { type } = declaration as TypeAliasDeclaration
  const text = declaration.getText()
  return exported(text.slice(0, text.lastIndexOf(type.getText())).replace(/\s*=\s*$/, ''))
}

const exported = (text: string) => text.replace(/^export (?:declare )?/, '')

/** The text before a body. */
function cut(declaration: Node, body: Node | undefined): string {
  const text = declaration.getText()
  const head = body ? text.slice(0, text.length - body.getText().length) : text
  return exported(head).trim()
}

const withoutComments = (text: string) =>
  text
    .replace(/\/\*\*[\s\S]*?\*\//g, '')
    .replace(/^\s*\/\/.*$/gm, '')
    .replace(/\n\s*\n/g, '\n')

/** Whether a declaration is nothing but a list of members. */
function isLiteral(declaration: Node): boolean {
  if (declaration.kind === SyntaxKind.InterfaceDeclaration) return !/<|extends/.test(signatureHead(declaration))
  const { type, typeParameters } = declaration as TypeAliasDeclaration
  const isObject = type?.kind === SyntaxKind.TypeLiteral || type?.kind === SyntaxKind.IntersectionType
  return declaration.kind === SyntaxKind.TypeAliasDeclaration && isObject && !typeParameters?.length
}

const signatureHead = (declaration: Node) => exported(declaration.getText().split(/ \{(?:\n|\}$)/)[0] ?? '')

/** The types that an intersection adds members to, as texts. */
const basesOf = (declaration: Node): string[] =>
  declaration.kind === SyntaxKind.TypeAliasDeclaration
    ? basesIn(declaration).map((base) => base.getText().replace(/\s+/g, ' '))
    : []

type Member = { readonly name: string; readonly type: string; readonly text: string }

/** The members of a declaration, and of its bases that are not exported. Other members are with the type that declares them. */
function membersOf({ name, symbol, declaration, project }: Entry, links: Links): Member[] {
  const { checker } = project
  // The platform and this library call its methods.
  if (declaration.kind === SyntaxKind.ClassDeclaration && / extends DurableObject\b/.test(signatureHead(declaration)))
    return []
  if (!(symbol.flags & (SymbolFlags.Interface | SymbolFlags.TypeAlias | SymbolFlags.Class))) return []
  return checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol)).flatMap((member) => {
    const node = member.declarations[0]?.resolve(project)
    if (!node || member.name.includes('#') || isOfPlatform(node)) return []
    const declaring = isWithin(node, declaration) ? undefined : links.declaring(node)
    if (declaring && declaring.name !== name) return []
    const { questionToken, postfixToken } = node as unknown as { questionToken?: Node; postfixToken?: Node }
    const isOptional = (questionToken ?? postfixToken)?.kind === SyntaxKind.QuestionToken
    return [{ name: `${member.name}${isOptional ? '?' : ''}`, type: typeOf(node), text: memberText(member, checker) }]
  })
}

const isOfPlatform = (node: Node) => /node_modules|\/lib\.[\w.]+\.d\.ts$/.test(node.getSourceFile().fileName)

const isWithin = (node: Node, declaration: Node) =>
  node.getSourceFile().fileName === declaration.getSourceFile().fileName &&
  node.pos >= declaration.pos &&
  node.end <= declaration.end

function memberText(member: Named, checker: Checker): string {
  const tags = tagsOf(member, checker).map(({ name, text }) => tagText(name, text))
  const texts = [prose(member.getDocumentationComment(checker)), ...tags].map((text) => text.trim()).filter(Boolean)
  return texts
    .map((text) => text.replace(/([^.!?:>])$/, '$1.'))
    .join(' ')
    .replace(/\s+/g, ' ')
}

/** The type of a member as it is written: of a method, its parameters and result. */
function typeOf(node: Node): string {
  const text = withoutComments(node.getText()).replace(/\s+/g, ' ').trim()
  const { body, type, initializer } = node as unknown as { body?: Node; type?: Node; initializer?: Node }
  if (node.kind === SyntaxKind.MethodSignature || node.kind === SyntaxKind.MethodDeclaration) {
    const whole = body ? withoutComments(cut(node, body)).replace(/\s+/g, ' ').trim() : text
    return whole.replace(/^(?:async )?\w+\??/, '').replace(/;$/, '')
  }
  const written = type ? withoutComments(type.getText()) : (initializer?.getText() ?? '')
  // Members on lines of their own have no semicolons in the source.
  return written
    .replace(/([^{;,|&(<=>\s])\s*\n\s*(?=[\w'"[])/g, '$1; ')
    .replace(/\s+/g, ' ')
    .trim()
}

const code = (text: string) => ['```typescript', text, '```'].join('\n')

const cell = (text: string) => text.replaceAll('|', '\\|').replace(/\s+/g, ' ')

/** Docstrings break their lines by width; paragraphs are kept. What is not code must not look like HTML. */
const prose = (text: string) =>
  text
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.replace(/\s*\n\s*/g, ' '))
    .join('\n\n')
    .replace(/`[^`]*`|<(?=[a-zA-Z/])/g, (found) => (found === '<' ? '&lt;' : found))
