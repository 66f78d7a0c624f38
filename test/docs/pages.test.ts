/** Links lead somewhere, and what is to be typed into a terminal exists. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, posix } from 'node:path'
import { describe, expect, test } from 'vitest'
import { filesOf, templates } from '../../cli/init/template.ts'
import { sections } from '../../site/.vitepress/navigation.ts'
import { type Page, pageAt, pages, root } from './pages.ts'

type Manifest = { homepage: string; scripts: Record<string, string> }
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest
const [, newProject = ''] = filesOf('hello', 'new').find(([path]) => path === 'package.json') ?? []
/** Of this repository, and of the projects that `edgemcp init` writes. */
const scripts = { ...(JSON.parse(newProject) as Manifest).scripts, ...manifest.scripts }
const bins = new Set(readdirSync(join(root, 'node_modules/.bin')))

/** What one has, or what npx fetches. */
const tools = new Set(['cd', 'curl', 'git', 'mkdir', 'cp', 'openssl', 'node'])
/** Hosts of MCP, which readers have installed. */
const hosts = new Set(['claude', 'codex', 'gemini', 'copilot'])
const fetched = new Set(['tsx', '@modelcontextprotocol/inspector', 'edgemcp'])
const npmCommands = new Set(['ci', 'install', 'init', 'pack', 'pkg', 'create'])

describe.each(pages.map((page) => [page.path, page] as const))('%s', (path, page) => {
  test('has no broken links', () => {
    expect(page.links.flatMap(({ to, line }) => brokenLink(page, to).map((why) => `${path}:${line} ${why}`))).toEqual(
      [],
    )
  })

  // The site shows 84 columns without a scroll bar on a screen that is 1280 px wide, and wraps the signatures of the API.
  // The transcript has what the terminal printed.
  test.runIf(path.startsWith('docs/') && !/^docs\/(?:reference\/api\/|start\/transcript)/.test(path))(
    'has code of at most 84 columns',
    () => {
      const wide = page.blocks.flatMap(({ code, line }) =>
        code.split('\n').flatMap((text, at) => ([...text].length > 84 ? [`${path}:${line + at} ${text}`] : [])),
      )
      expect(wide).toEqual([])
    },
  )

  test('names existing commands', () => {
    const typed = page.blocks.filter(({ language }) => language === 'sh' || language === 'bash')
    const unknown = typed.flatMap(({ code, line }) =>
      commands(code).flatMap(({ command, at }) => unknownCommand(command).map((why) => `${path}:${line + at} ${why}`)),
    )
    const mentioned = page.spans.flatMap(({ code, line }) =>
      /^np[mx] /.test(code) ? unknownCommand(code).map((why) => `${path}:${line} ${why}`) : [],
    )
    expect([...unknown, ...mentioned]).toEqual([])
  })

  test('names existing files', () => {
    const gone = page.spans.filter(
      ({ code }) => namesFile(code) && !['', '.ts'].some((end) => existsSync(join(root, code + end))),
    )
    expect(gone.map(({ code, line }) => `${path}:${line} there is no ${code}`)).toEqual([])
  })
})

test('samples of oauthProvider() set the client of the principal', () => {
  const samples = pages.flatMap(({ path, blocks }) =>
    blocks
      .filter(({ code }) => /(?<!function )oauthProvider[<(]/.test(code))
      .map(({ code, line }) => ({ code, at: `${path}:${line}` })),
  )
  expect(samples.length).toBeGreaterThan(3)
  expect(samples.filter(({ code }) => !/\bclient: \w/.test(code)).map(({ at }) => at)).toEqual([])
})

/** A path from the root, in a room that a reader can look into. */
const namesFile = (code: string) =>
  /^(worker|durable-objects|test|examples|docs|scripts|bench)\/[\w./-]+$/.test(code) && !code.includes('node_modules')

/** The file of this repository that a link of a page names, from the root. `undefined`: the link leads elsewhere. */
function fileOf(page: Page, to: string): string | undefined {
  const [file = ''] = to.split('#')
  const site = `${manifest.homepage}/`
  const [, path] =
    /^https:\/\/(?:github\.com\/edgemcp\/edgemcp\/(?:blob|tree)|raw\.githubusercontent\.com\/edgemcp\/edgemcp)\/main\/(.*)$/.exec(
      file,
    ) ?? []
  if (path !== undefined) return path
  if (file.startsWith(site)) return `docs/${file.slice(site.length).replace(/(^|\/)$/, '$1index')}.md`
  if (/^[a-z]+:/.test(file)) return undefined
  return file === '' ? page.path : posix.join(posix.dirname(page.path), file)
}

/** npm shows these pages without the repository beside them. */
const published = ['README.md', 'AGENTS.md', 'CHANGELOG.md']

function brokenLink(page: Page, to: string): string[] {
  const target = fileOf(page, to)
  if (target === undefined) return []
  if (published.includes(page.path) && !/^(https:|#)/.test(to)) return [`leads to ${to}: write the whole address`]
  const anchor = to.split('#')[1]
  if (!existsSync(join(root, target))) return [`leads to ${to}, but there is no ${target}`]
  if (anchor === undefined || statSync(join(root, target)).isDirectory()) return []
  const anchors = pageAt(target)?.anchors
  if (!anchors || anchors.has(anchor)) return []
  return [`leads to ${to}, but ${target} has no such heading. It has: ${[...anchors].join(', ')}`]
}

/** The first word of each command and what follows, without comments, variables in front, and what goes on from the line above. */
function commands(code: string): { command: string; at: number }[] {
  const found: { command: string; at: number }[] = []
  let goesOn = false
  let isQuoted = false
  for (const [at, text] of code.split('\n').entries()) {
    const line = text.replace(/(^|\s)#.*$/, '').trim()
    if (!goesOn && line !== '') {
      for (const command of line.replace(/\s*\\$/, '').split(/\s*(?:&&|\|\||[|;])\s*/)) {
        found.push({ command: command.replace(/^\$ /, '').replace(/^(?:\w+=\S* +)+/, ''), at })
      }
    }
    if ((line.match(/'/g)?.length ?? 0) % 2 === 1) isQuoted = !isQuoted
    goesOn = isQuoted || line.endsWith('\\')
  }
  return found
}

function unknownCommand(command: string): string[] {
  const [tool = '', ...words] = command.split(/\s+/)
  const [first = '', second = ''] = words.filter((word) => !/^-(y|s|-yes|-silent)$/.test(word))
  if (tools.has(tool) || hosts.has(tool) || tool === '') return []
  if (tool === 'npm') {
    const script = first === 'run' ? second : first
    if (first !== 'run' && npmCommands.has(first)) return []
    if (scripts[script] !== undefined) return []
    return [`"${command}": package.json has no script "${script}"`]
  }
  if (tool === 'npx') {
    const name = first.replace(/(?!^)@.*$/, '')
    return bins.has(name) || fetched.has(name) ? [] : [`"${command}": there is no command "${name}"`]
  }
  return bins.has(tool) ? [] : [`"${command}": there is no command "${tool}"`]
}

test('docs/README.md lists every page', () => {
  const listed = new Set(pageAt('docs/README.md')?.links.map(({ to }) => `docs/${to}`))
  const unlisted = pages.filter(({ path }) => /^docs\/(?!README|index\.md).+\.md$/.test(path) && !listed.has(path))
  expect(unlisted.map(({ path }) => path)).toEqual([])
})

test('the sidebar of the site lists every page of docs/, and no other', () => {
  const listed = sections.flatMap(({ pages }) => pages.map(([path]) => `docs/${path}.md`))
  const written = pages.map(({ path }) => path).filter((path) => /^docs\/(?!README|index\.md).+\.md$/.test(path))
  expect(listed.toSorted()).toEqual(written.toSorted())
})

test('the error of a broken link or an unknown command names both', () => {
  const page = pageAt('README.md') as Page
  const nowhere = 'https://edgemcp.dev/nowhere'
  expect(brokenLink(page, nowhere)).toEqual([`leads to ${nowhere}, but there is no docs/nowhere.md`])
  expect(brokenLink(page, 'docs/index.md')).toEqual(['leads to docs/index.md: write the whole address'])
  expect(brokenLink(page, '#nowhere')[0]).toContain('leads to #nowhere, but README.md has no such heading')
  expect(unknownCommand('npm run nothing')).toEqual(['"npm run nothing": package.json has no script "nothing"'])
  expect(commands('A=1 npm test && npx x  # both\ncurl a \\\n  -H b').map(({ command }) => command)).toEqual([
    'npm test',
    'npx x',
    'curl a',
  ])
})

test('the command line page lists the templates of npx edgemcp init', () => {
  const rows =
    pageAt('docs/reference/cli.md')
      ?.spans.filter(({ isFirst }) => isFirst)
      .map(({ code }) => code) ?? []
  const first = rows.indexOf('hello')
  expect(rows.slice(first, first + Object.keys(templates).length)).toEqual(Object.keys(templates))
})
