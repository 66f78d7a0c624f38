/** The figures in pages are those of bench/figures.json, which `npm run size -- --write` and `npm run bench -- charts` write. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { root } from './pages.ts'

type Figures = {
  readonly comparison: {
    readonly cpu: Readonly<Record<string, Readonly<Record<string, string>>>>
    readonly startup: Readonly<Record<string, string>>
  }
  readonly bundles: { readonly kilobytes: Readonly<Record<string, { readonly bare: number; readonly whole: number }>> }
  readonly sizes: Readonly<Record<string, number>>
}

const textOf = (path: string) => readFileSync(join(root, path), 'utf8')
const { comparison, bundles, sizes }: Figures = JSON.parse(textOf('bench/figures.json'))
const servers = ['edgemcp', 'mcp-lite', 'tmcp', 'SDK v2', 'agents, createMcpHandler', 'agents, McpAgent']

/** The cells of the row of a page, without the first one. */
function rowOf(path: string, label: string): string[] {
  const row = textOf(path)
    .split('\n')
    .find((line) => line.startsWith(`| ${label} `))
  if (row === undefined) throw new Error(`${path} has no row "${label}"`)
  const cells = row.split('|').slice(2, -1)
  return cells.map((cell) => cell.replace(/<sup>.*/, '').trim())
}

const cpuOf = (scenario: string) => servers.map((server) => comparison.cpu[scenario]?.[server] ?? '–')
const median = (text: string) => text.replace(/ \(.*/, '')
const bare = (server: string) => bundles.kilobytes[server]?.bare.toFixed(1) ?? '–'

const scenarios = [
  ['discover', 'the first request: `server/discover`, or `initialize`', 'discover / initialize'],
  ['list3', '`tools/list`, 3 tools', '`tools/list`, 3 tools'],
  ['list50', '`tools/list`, 50 tools', '`tools/list`, 50 tools'],
  ['echo', '`tools/call`: echo', 'echo'],
  ['zod', 'structured output, zod', 'structured output, zod'],
  ['valibot', 'structured output, valibot', 'structured output, valibot'],
  ['json', 'structured output, JSON Schema', 'structured output, JSON Schema'],
  ['read', '`resources/read`', 'resource read'],
  ['progress', 'progress over SSE, 5 events', 'progress, 5 events'],
  ['ask', 'a question and its answer, stateless', 'elicitation, stateless'],
  ['sessions', 'echo, 200 sessions in turn', 'echo, 200 sessions'],
  ['create', 'a new session and its first call', 'new session with its first call'],
] as const

describe('the comparison', () => {
  test.each(scenarios)('has the CPU time of %s on both pages', (key, label, other) => {
    expect(rowOf('bench/README.md', label).slice(1)).toEqual(cpuOf(key))
    expect(rowOf('docs/how-it-works/performance.md', other).slice(1)).toEqual(cpuOf(key))
  })

  test.each([
    ['CPU of a tool call, × floor', cpuOf('echo').map(median)],
    ['CPU of a list of 50 tools, × floor', cpuOf('list50').map(median)],
    ['CPU of a tool call in a session, × floor', cpuOf('sessions').map(median)],
    ['CPU of a stateless input request, × floor', cpuOf('ask').map(median)],
    ['bundle without schema library, KB gzip', servers.map(bare)],
    ['CPU of the start, × an empty Worker', servers.map((server) => median(comparison.startup[server] ?? '–'))],
  ])('of README.md has its %s', (label, cells) => {
    expect(rowOf('README.md', label)).toEqual(cells)
  })

  test('has the bundles and the start on the page about performance', () => {
    const page = 'docs/how-it-works/performance.md'
    expect(rowOf(page, 'bundle without schema library, KB gzip')).toEqual(['floor', ...servers].map(bare))
    const started = ['floor', ...servers].map((server) => median(comparison.startup[server] ?? '–'))
    expect(rowOf(page, 'startup with zod, CPU × empty Worker')).toEqual(started)
    const drawn = textOf('docs/images/bench-bundle.svg')
    for (const server of servers) expect(drawn).toContain(`>${bare(server)}<`)
  })
})

const everything = sizes['everything of edgemcp'] ?? 0
/** Kilobytes that an entry point adds to the Worker. */
const added = (entry: string) => Math.round((sizes[`with edgemcp/${entry}`] ?? 0) - everything)

test.each([
  ['docs/guides/inspector.md', /The plugin adds (\d+) KB/, added('inspector')],
  ['docs/guides/subscriptions.md', /the bundle is up to (\d+) KB smaller/, added('subscriptions')],
  ['docs/how-it-works/performance.md', /bundle of hello.*\*\*([\d.]+)\*\*/, sizes['hello, without its schema library']],
  ['docs/how-it-works/performance.md', /`edgemcp\/auth` adds (\d+) KB/, added('auth')],
])('the size in %s is measured: %s', (path, pattern, expected) => {
  expect(Number(pattern.exec(textOf(path))?.[1])).toBe(expected)
})
