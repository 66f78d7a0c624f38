/** The pages of docs/reference/api: what each entry point exports, from its declarations and docstrings. */
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import {
  type ExpressionWithTypeArguments,
  type InterfaceDeclaration,
  type IntersectionTypeNode,
  type Node,
  type SourceFile,
  SyntaxKind,
  type TypeAliasDeclaration,
  type TypeReferenceNode,
} from 'typescript/unstable/ast'
import { API, type Symbol as Named, type Project, SymbolFlags } from 'typescript/unstable/sync'
import {
  aliasText,
  code,
  constructorOf,
  type Declared,
  descriptionOf,
  docOf,
  examplesOf,
  hasMembers,
  headOf,
  isLiteral,
  isOfPlatform,
  type Member,
  membersOf,
  methodText,
  overloadsOf,
  signatureOf,
  tagList,
  tagsOf,
  variantsOf,
} from './declarations.ts'

const root = resolve(import.meta.dirname, '../..')

/** The guide of each entry point: a path from docs/, and its title. */
const guides: Readonly<Record<string, readonly [path: string, title: string]>> = {
  edgemcp: ['guides/tools.md', 'Tools'],
  'edgemcp/api-keys': ['guides/api-keys.md', 'API keys'],
  'edgemcp/apps': ['guides/apps.md', 'Apps'],
  'edgemcp/audit': ['guides/audit.md', 'Audit log'],
  'edgemcp/auth': ['guides/authentication.md', 'Authentication'],
  'edgemcp/compose': ['guides/composing.md', 'Composition'],
  'edgemcp/discovery': ['guides/discovery.md', 'Discovery'],
  'edgemcp/events': ['guides/events.md', 'Events'],
  'edgemcp/extensions': ['guides/extensions.md', 'Extensions'],
  'edgemcp/inspector': ['guides/inspector.md', 'Inspector and page'],
  'edgemcp/json-schema': ['guides/schemas.md', 'Schemas'],
  'edgemcp/knowledge': ['guides/knowledge.md', 'Deep research and company knowledge'],
  'edgemcp/rate-limit': ['guides/rate-limits.md', 'Rate limits'],
  'edgemcp/observe': ['guides/observability.md', 'Observability'],
  'edgemcp/openapi': ['guides/openapi.md', 'OpenAPI'],
  'edgemcp/page': ['guides/inspector.md', 'Inspector and page'],
  'edgemcp/sampling': ['guides/elicitation.md', 'Elicitation and sampling'],
  'edgemcp/results': ['guides/large-results.md', 'Large results'],
  'edgemcp/sessions': ['reference/options.md', 'Options'],
  'edgemcp/sign-in': ['guides/sign-in.md', 'Sign-in'],
  'edgemcp/skills': ['guides/skills.md', 'Skills'],
  'edgemcp/state': ['guides/state.md', 'State'],
  'edgemcp/tasks': ['guides/tasks.md', 'Tasks'],
  'edgemcp/subscriptions': ['guides/subscriptions.md', 'Subscriptions'],
  'edgemcp/testing': ['guides/testing.md', 'Testing'],
  'edgemcp/testing/node': ['guides/testing.md', 'Testing'],
  'edgemcp/testing/timed': ['guides/testing.md', 'Testing'],
  'edgemcp/testing/workers': ['guides/testing.md', 'Testing'],
}

/** The types of MCP messages are declared here. The specification describes their members. */
const protocolTypes = /worker\/protocol\/types\.ts$/

/** The types of plugins, interceptors and a custom `Auth` are declared here. */
const pluginTypes =
  /worker\/(?:plugin|request-hooks|http\/(?:host|transport)|protocol\/jsonrpc|engine\/(?:call|methods\/method)|declarations\/(?:call-attempt|change-hub|declarations|interceptor|outcome))\.ts$/

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
  // The command line has no exports.
  return all.filter(({ source }) => source.startsWith('worker/'))
}

/** The file of an entry point in docs/reference/api: where its functions and classes are. */
export const fileOf = (entry: string) => `${entry.replace(/^edgemcp\//, '').replaceAll('/', '-')}.md`

/** The entry point with a page for each group of exports: one page would have 40 screens. */
const largeEntry = 'edgemcp'

const groupFile = (entry: string, group: Group) =>
  entry === largeEntry ? fileOf(`${entry}${groupPages[group].suffix}`) : fileOf(entry)

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

/** The exports of an entry point, under their exported names. */
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
type Entry = Declared & {
  readonly file: string
  readonly group: Group
  /** A type that exported types refer to, which cannot be imported. */
  readonly isInternal: boolean
  anchor: string
}
/** Groups whose types are rows of one table. */
const isRow: ReadonlySet<Group> = new Set(['alias', 'protocol'])
type Group = 'value' | 'type' | 'plugin' | 'alias' | 'protocol'

type Page = { readonly entry: string; readonly exports: Exports; readonly own: Entry[]; readonly others: Entry[] }

/** The pages of the large entry point. */
const groupPages: Readonly<Record<Group, { readonly suffix: string; readonly title: string }>> = {
  value: { suffix: '', title: '' },
  type: { suffix: '-types', title: 'types' },
  plugin: { suffix: '-plugins', title: 'types for plugins' },
  alias: { suffix: '-more-types', title: 'more types, and those of MCP' },
  protocol: { suffix: '-more-types', title: 'more types, and those of MCP' },
}

/** The pages by path from the root of the repository. */
export const reference = (): Map<string, string> =>
  withProjects((projects) => {
    const pages = readPages(projects)
    const texts = pages.flatMap((page) =>
      filesOf(page).map((file): [string, string] => [`docs/reference/api/${file}`, pageText(page, file, pages)]),
    )
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
        file: groupFile(entry, group),
        group,
        isInternal: false,
        anchor: '',
      }
      described.set(place, added)
      page.own.push(added)
    }
    pages.push(page)
  }
  // Exports are described on their own pages, so these types come after all exports.
  const uses = countBases(pages.flatMap(({ own }) => own))
  for (const page of pages) {
    for (const user of page.own) addInternal(user, page, described, uses)
    page.own.sort((a, b) => a.name.localeCompare(b.name))
    const takenIn = new Map<string, Set<string>>()
    for (const added of [...sectionsOf(page), ...page.own.filter(({ group }) => isRow.has(group))]) {
      const taken = takenIn.get(added.file) ?? new Set(groupTitles.map(([, title]) => anchorOf(title)))
      takenIn.set(added.file, taken)
      added.anchor = freeAnchor(anchorOf(added.name), taken)
      taken.add(added.anchor)
    }
  }
  return pages
}

/** Counts the types that take members from a type, by its place. */
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
  { name, declaration, project }: Entry,
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
    const file = groupFile(page.entry, group)
    const added = { name: symbol.name, symbol, declaration: found, project, file, group, isInternal: true, anchor: '' }
    described.set(place, added)
    // The loop over the page reaches it as well.
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

/** The names of types in a declaration, outside of the bodies of functions. */
function referencesIn(node: Node): Node[] {
  const names: Node[] = []
  const visit = (child: Node): void => {
    const { parent } = child as { parent?: Node & { readonly body?: Node; readonly initializer?: Node } }
    if (child !== node && parent?.body === child) return
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
  if (!hasMembers(declaration) && !variantsOf(declaration) && symbol.getJsDocTags(checker).length === 0) return 'alias'
  return pluginTypes.test(fileName) ? 'plugin' : 'type'
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

/** The files of a page, that of the entry point first. */
const filesOf = ({ entry, own }: Page): string[] => [...new Set([fileOf(entry), ...own.map(({ file }) => file)])]

function pageText(page: Page, file: string, pages: readonly Page[]): string {
  const own = page.own.filter((one) => one.file === file)
  const links = new Links(file, pages)
  const isFirst = file === fileOf(page.entry)
  const others = isFirst ? page.others : []
  const parts = [
    ...(isFirst ? firstPart(page) : [`# ${page.entry}: ${titleOf(own)}`, mark]),
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

function firstPart(page: Page): string[] {
  const { entry, exports, own } = page
  const values = own.filter(({ group }) => group === 'value').map(({ name }) => name)
  const [path = '', title = ''] = guides[entry] ?? []
  const more = filesOf(page)
    .slice(1)
    .map((file) => `[${titleOf(own.filter((one) => one.file === file))}](${file})`)
  return [
    `# ${entry}`,
    mark,
    descriptionOf(exports.file),
    ...(path ? [`Guide: [${title}](../../${path})`] : []),
    ...(more.length > 0 ? [`Other pages: ${more.join(' · ')}`] : []),
    ...importText(values, entry),
  ]
}

const titleOf = ([one]: readonly Entry[]): string => (one ? groupPages[one.group].title : '')

function importText(names: readonly string[], entry: string): string[] {
  const line = `import { ${names.join(', ')} } from '${entry}'`
  return names.length > 0 && line.length <= 120 ? [code(line)] : []
}

/** Types without members of their own are rows of one table. */
function aliasSection(own: readonly Entry[], links: Links): string[] {
  const rows = own
    .filter(({ group }) => group === 'alias')
    .map((one) => {
      const head = headOf(one.declaration)
      const value = aliasText(one).slice(head.length).replace(/^ = /, '')
      return `| ${anchored(one, head.replace(/^(?:type|interface) /, ''))} | ${links.type(value, one.declaration, one)} | ${rowText(one)} |`
    })
  if (rows.length === 0) return []
  return ['## Other types', ['| type | definition | description |', '|---|---|---|', ...rows].join('\n')]
}

/** Types of MCP have no sections: the specification describes their members. */
function protocolSection(own: readonly Entry[]): string[] {
  const rows = own
    .filter(({ group }) => group === 'protocol')
    .map((one) => `| ${anchored(one, one.name)} | ${rowText(one)} |`)
  if (rows.length === 0) return []
  return [
    '## Types of MCP',
    'These types have the names and members of the [schema of MCP](https://modelcontextprotocol.io/specification/2026-07-28/schema).',
    ['| type | description |', '|---|---|', ...rows].join('\n'),
  ]
}

const anchored = ({ anchor }: Entry, text: string) => `<a id="${anchor}"></a>\`${cell(text)}\``

const rowText = ({ symbol, project }: Entry) => cell(docOf(symbol, project.checker))

function otherSection(others: readonly Entry[], links: Links): string[] {
  if (others.length === 0) return []
  return ['## Also exported', others.map((one) => links.to(one)).join(', ')]
}

/** Links from one page to the sections of all pages. */
class Links {
  readonly #file: string
  readonly #entries: ReadonlyMap<string, Entry>

  constructor(file: string, pages: readonly Page[]) {
    this.#file = file
    this.#entries = new Map(pages.flatMap(({ own }) => own).map((one) => [placeOf(one.symbol), one]))
  }

  to(one: Entry, text = one.name): string {
    return `[\`${text}\`](${one.file === this.#file ? '' : one.file}#${one.anchor})`
  }

  /** The exports whose types a declaration names, each once. Those of a function are the types of its parameters and result. */
  namedIn(node: Node, user: Entry): Entry[] {
    const named = referencesIn(node).flatMap((reference) => {
      const one = this.#entries.get(placeOf(targetOf(reference, user.project)))
      return one && one !== user ? [one] : []
    })
    return [...new Set(named)]
  }

  /** The export that declares a member. */
  declaring(member: Node): Entry | undefined {
    return [...this.#entries.values()].find(({ declaration }) => isWithin(member, declaration))
  }

  /** A type as code, with links to the exports that it names. */
  type(text: string, node: Node, user: Entry): string {
    if (text === '') return ''
    const named = this.namedIn(node, user)
    const own = named.filter(isWorthLink)
    // The specification describes types of MCP. A link to one is of use for a property that is one.
    const plain = text.replace(/^readonly | \| undefined$|\[\]$/g, '')
    const [one, another] = own.length > 0 ? own : named.filter(({ name }) => name === plain && name !== 'Params')
    if (!one) return cell(`\`${text}\``)
    if (!another) return cell(this.to(one, text))
    // A code span cannot contain links, so the spans end around each name.
    const linked = text.replace(/'[^']*'|\b[A-Z]\w*\b/g, (word) => {
      const found = own.find(({ name }) => name === word)
      return found ? `\`${this.to(found)}\`` : word
    })
    return cell(`\`${linked}\``.replace(/^``/, '').replace(/``$/, ''))
  }
}

/** Whether a link to a type helps a reader. The specification describes types of MCP, and `Awaitable` explains itself. */
const isWorthLink = ({ name, group }: Entry) => group !== 'protocol' && name !== 'Awaitable'

function section(one: Entry, links: Links): string {
  const { name, symbol, declaration, project } = one
  const { checker } = project
  const members = membersOf(one, (member) => {
    const declaring = isWithin(member, declaration) ? undefined : links.declaring(member)
    return declaring === undefined || declaring === one
  })
  const isClass = declaration.kind === SyntaxKind.ClassDeclaration
  const variants = variantsOf(declaration)
  const inSections = hasMethodSections(one, members) ? members.filter(({ isMethod }) => isMethod) : []
  const rows = variants ? [] : members.filter((member) => !inSections.includes(member))
  const isList = (members.length > 0 || variants !== undefined) && isLiteral(declaration)
  const created = constructorOf(one)
  const signature = isList ? '' : [signatureOf(one), ...(created ? [created.signature] : [])].join('\n\n')
  const bases = basesOf(declaration).filter((base) => links.namedIn(base, one).length > 0)
  return [
    `### ${name}`,
    ...(one.isInternal ? ['*Not exported: part of exported types.*'] : []),
    docOf(symbol, checker),
    ...(signature === '' ? [] : [code(signature)]),
    ...tagList([...tagsOf(symbol, checker), ...(created?.tags ?? [])].toSorted(byKind)),
    ...(bases.length > 0 ? [`Also has the members of ${listOf(bases, one, links)}.`] : []),
    ...(members.length > 0 || isClass ? [] : typeLinks(overloadsOf(symbol, project), one, links)),
    ...(variants
      ? [
          tableOf(
            'form',
            variants.map(({ type, text }) => [`\`${cell(type)}\``, cell(text)]),
          ),
        ]
      : []),
    ...(rows.length > 0 ? [memberTable(rows, one, links)] : []),
    ...examplesOf(symbol, checker),
    ...inSections.map((member) => methodSection(member, one, links)),
  ].join('\n\n')
}

/** Tags of the same kind follow one another, in the order of the source. */
const byKind = (a: { readonly name: string }, b: { readonly name: string }) =>
  kinds.indexOf(a.name) - kinds.indexOf(b.name)
const kinds = ['param', 'returns', 'throws', 'see']

const tableOf = (title: string, rows: readonly (readonly string[])[]) =>
  [`| ${title} | description |`, '|---|---|', ...rows.map((cells) => `| ${cells.join(' | ')} |`)].join('\n')

const memberTable = (rows: readonly Member[], one: Entry, links: Links) =>
  [
    '| member | type | description |',
    '|---|---|---|',
    ...rows.map(
      ({ name, node, type, text }) => `| \`${cell(name)}\` | ${links.type(type, node, one)} | ${cell(text)} |`,
    ),
  ].join('\n')

/**
 * Methods of which several have parameters, results or examples to describe have sections. Options, and what plugins implement, are rows of
 * one table.
 */
function hasMethodSections({ name, group, project }: Entry, members: readonly Member[]): boolean {
  if (group === 'plugin' || /(?:Options|Definition)$/.test(name)) return false
  const described = members.filter(
    ({ isMethod, symbol }) =>
      isMethod && symbol.getJsDocTags(project.checker).some((tag) => /^(?:param|returns|example)$/.test(tag.name)),
  )
  return described.length > 1 || (group === 'value' && members.some(({ isMethod }) => isMethod))
}

function methodSection({ name, symbol }: Member, one: Entry, links: Links): string {
  const { checker } = one.project
  return [
    `#### ${one.name}${name.startsWith('[') ? '' : '.'}${name.replace('?', '')}()`,
    docOf(symbol, checker),
    code(methodText(symbol, one.project)),
    ...tagList(tagsOf(symbol, checker)),
    ...typeLinks(overloadsOf(symbol, one.project), one, links),
    ...examplesOf(symbol, checker),
  ].join('\n\n')
}

/** Links to the types of signatures. */
function typeLinks(signatures: readonly Node[], one: Entry, links: Links): string[] {
  const named = signatures.flatMap((node) => links.namedIn(node, one)).filter(isWorthLink)
  return named.length > 0 ? [`Types: ${[...new Set(named)].map((other) => links.to(other)).join(', ')}.`] : []
}

const listOf = (bases: readonly Node[], one: Entry, links: Links) =>
  bases.map((base) => links.type(base.getText().replace(/\s+/g, ' '), base, one)).join(', ')

/** The types that an intersection adds members to. */
const basesOf = (declaration: Node): Node[] =>
  declaration.kind === SyntaxKind.TypeAliasDeclaration ? basesIn(declaration) : []

const isWithin = (node: Node, declaration: Node) =>
  node.getSourceFile().fileName === declaration.getSourceFile().fileName &&
  node.pos >= declaration.pos &&
  node.end <= declaration.end

const cell = (text: string) => text.replaceAll('|', '\\|').replace(/\s+/g, ' ')
