/** Compiles the `ts` blocks of pages, and tells of errors by page and line. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { API } from 'typescript/unstable/sync'
import { type Block, type Page, root } from './pages.ts'

/** What there is to know for whoever meets an error, wherever that is. */
const convention = `A \`ts\` block with \`export default\`, and no comment above it, is a whole module. Any other may use what test/docs/known.d.ts declares. An
HTML comment right above the block says what else there is to it:
  <!-- ts
  what it needs besides, as TypeScript; a line \`// …\` is the place of the block, if that is not the end
  -->
  <!-- ts continues -->           the blocks before it on the page come first
  <!-- ts from <path> -->         it is a part of this file, which is compiled already`

/** A block as a module. `lines[n]` is the line of the page that line n of the module comes from. */
export type Module = {
  readonly page: string
  readonly block: Block
  readonly code: string
  readonly lines: readonly number[]
  readonly isWhole: boolean
}

type Line = { text: string; line: number }

/** @throws when a comment above a block cannot be read */
export function modulesOf(page: Page): Module[] {
  const modules: Module[] = []
  let before: Line[] = []
  for (const block of page.blocks.filter(({ language }) => language === 'ts')) {
    const [, directive, context] = /^\s*ts(?: +(.*?))?\s*(?:\n([\s\S]*))?$/.exec(block.comment?.text ?? '') ?? []
    if (directive?.startsWith('from ')) continue
    if (directive && directive !== 'continues') {
      throw new Error(`${page.path}:${block.comment?.line} "ts ${directive}" is not known.\n${convention}`)
    }
    const own = numbered(block.code.trimEnd(), block.line)
    const around = context === undefined ? [] : numbered(context.trimEnd(), (block.comment?.line ?? 0) + 1)
    const place = around.findIndex(({ text }) => text.trim() === '// …')
    const framed = place < 0 ? [...around, ...own] : [...around.slice(0, place), ...own, ...around.slice(place + 1)]
    const all = directive === 'continues' ? [...before, ...framed] : framed
    before = all
    const isWhole = block.comment === undefined && /^export default /m.test(block.code)
    modules.push({
      page: page.path,
      block,
      // So that it is a module, whatever it has.
      code: `${[...all.map(({ text }) => text), ...(isWhole ? [] : ['export {}'])].join('\n')}\n`,
      lines: all.map(({ line }) => line),
      isWhole,
    })
  }
  return modules
}

/** Blocks that say where they come from and are not there any more. */
export function strangersOf(page: Page): string[] {
  return page.blocks.flatMap(({ comment, code, line }) => {
    const [, path] = /^\s*ts from (\S+)\s*$/.exec(comment?.text ?? '') ?? []
    if (path === undefined) return []
    const there = unwrapped(readFileSync(join(root, path), 'utf8')).includes(unwrapped(code))
    return there ? [] : [`${page.path}:${line} is not to be found in ${path}`]
  })
}

/** Code without what depends on the length of lines, which is shorter on pages than in files. */
export const unwrapped = (code: string) =>
  code
    .replace(/\s+/g, '')
    .replace(/,(?=[)\]}])/g, '')
    .replace(/[();]/g, '')

const numbered = (text: string, first: number): Line[] =>
  text.split('\n').map((line, index) => ({ text: line, line: first + index }))

/** @returns one text for each error, `README.md:12 Cannot find name 'x'.` */
export function errorsOf(modules: readonly Module[]): string[] {
  const nameOf = (module: Module) => `${root}/.pages/${module.page}-${module.block.line}.ts`
  const files = new Map(modules.map((module) => [nameOf(module), module]))
  const config = (name: string, options: object, include: readonly string[]) =>
    [
      `${root}/.pages/${name}.json`,
      JSON.stringify({ extends: '../tsconfig.json', ...options, include: [], files: include }),
    ] as const
  const names = [...files.keys()]
  const chosen = (isWhole: boolean) => names.filter((name) => files.get(name)?.isWhole === isWhole)
  const configs = new Map<string, string>([
    config('whole', {}, chosen(true)),
    config('parts', { compilerOptions: { noUnusedLocals: false, noUnusedParameters: false } }, [
      `${root}/test/docs/known.d.ts`,
      ...chosen(false),
    ]),
  ])
  const virtual = (name: string) => files.get(name)?.code ?? configs.get(name)
  const api = new API({
    cwd: root,
    fs: {
      readFile: virtual,
      fileExists: (name) => virtual(name) !== undefined || undefined,
    },
  })
  try {
    const snapshot = api.updateSnapshot({ openProjects: [...configs.keys()] })
    const errors = snapshot
      .getProjects()
      .flatMap(({ program }) => [
        ...program.getConfigFileParsingDiagnostics(),
        ...program.getSyntacticDiagnostics(),
        ...program.getSemanticDiagnostics(),
      ])
    return errors.sort(byPlace).map((error) => {
      const { fileName = '', pos } = error
      const module = files.get(fileName)
      const said = textsOf(error).join(' ')
      if (!module) return `${fileName} ${said}`
      const line = module.code.slice(0, pos).split('\n').length - 1
      return `${module.page}:${module.lines[line] ?? module.block.line} ${said}`
    })
  } finally {
    api.close()
  }
}

type Chained = { readonly text: string; readonly messageChain?: readonly Chained[] | undefined }

/** The sentences of an error: each explains the one before. */
const textsOf = ({ text, messageChain = [] }: Chained): string[] => [text, ...messageChain.flatMap(textsOf)]

const byPlace = (a: { fileName?: string; pos: number }, b: { fileName?: string; pos: number }) =>
  (a.fileName ?? '').localeCompare(b.fileName ?? '', undefined, { numeric: true }) || a.pos - b.pos

export const withConvention = (errors: readonly string[]) => (errors.length === 0 ? [] : [...errors, convention])
