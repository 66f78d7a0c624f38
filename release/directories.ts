/**
 * Checks ten published servers with the rules of `edgemcp submit`: `npm run directories`. Installs them into a temporary folder, starts each over
 * stdio, and prints for each directory how many findings each rule has for the result of `tools/list`. Exits with 1 if these are not the findings
 * that were checked by hand.
 *
 * `--findings`: also prints each finding, to compare it with the list by hand.
 */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { Folder } from '../bench/folder.ts'
import { subjectOfList } from '../cli/submit/subject.ts'
import { directories, lint } from '../cli/submit/submit.ts'
import { exitOnSignals } from './pack.ts'

type Server = {
  readonly name: string
  readonly version: string
  /** In node_modules/.bin, with its arguments. */
  readonly command: readonly [program: string, ...args: string[]]
  /** The findings by directory, each compared with the list of the server by hand. */
  readonly checked: Readonly<Record<'anthropic' | 'openai' | 'microsoft', string>>
}

/** Servers of different authors that start without network and credentials. The registry has no rules for tools. */
const servers: readonly Server[] = [
  {
    name: '@modelcontextprotocol/server-everything',
    version: '2026.8.31',
    command: ['mcp-server-everything'],
    checked: { anthropic: 'write-hint 4', openai: 'output-schema 12', microsoft: 'schema-enum 3' },
  },
  {
    name: '@modelcontextprotocol/server-filesystem',
    version: '2026.8.31',
    command: ['mcp-server-filesystem', '.'],
    checked: { anthropic: 'write-hint 1, names-other-tools 1', openai: 'three-hints 10', microsoft: '' },
  },
  {
    name: '@modelcontextprotocol/server-memory',
    version: '2026.8.31',
    command: ['mcp-server-memory'],
    checked: { anthropic: 'write-hint 3', openai: '', microsoft: '' },
  },
  {
    name: '@modelcontextprotocol/server-sequential-thinking',
    version: '2026.8.31',
    command: ['mcp-server-sequential-thinking'],
    checked: { anthropic: '', openai: '', microsoft: 'schema-type-list 1, description-length 1' },
  },
  {
    name: '@modelcontextprotocol/server-github',
    version: '2025.4.8',
    command: ['mcp-server-github'],
    checked: {
      anthropic: 'tool-title 26, tool-hints 26',
      openai: 'three-hints 26, output-schema 26',
      microsoft: 'schema-enum 8',
    },
  },
  {
    name: '@modelcontextprotocol/server-budget-allocator',
    version: '2.0.3',
    command: ['mcp-budget-allocator-server', '--stdio'],
    checked: { anthropic: 'tool-hints 1', openai: 'three-hints 1', microsoft: '' },
  },
  {
    name: '@antv/mcp-server-chart',
    version: '0.9.10',
    command: ['mcp-server-chart'],
    checked: {
      anthropic: '',
      openai: 'three-hints 27, output-schema 27',
      microsoft: 'schema-type-list 1, description-length 1, schema-enum 25',
    },
  },
  {
    name: '@upstash/context7-mcp',
    version: '4.1.1',
    command: ['context7-mcp'],
    checked: { anthropic: '', openai: 'output-schema 2', microsoft: 'description-length 1' },
  },
  {
    name: '@notionhq/notion-mcp-server',
    version: '2.5.2',
    command: ['notion-mcp-server'],
    checked: { anthropic: '', openai: 'three-hints 24, output-schema 24', microsoft: 'schema-ref 6, schema-enum 2' },
  },
  {
    name: '@playwright/mcp',
    version: '0.0.83',
    command: ['playwright-mcp'],
    checked: { anthropic: 'names-other-tools 3', openai: 'output-schema 25', microsoft: 'schema-enum 7' },
  },
]

const { values } = parseArgs({ options: { findings: { type: 'boolean' } } })
exitOnSignals()
using temporary = new Folder()
const folder = temporary.path
writeFileSync(join(folder, 'package.json'), '{"private":true}')
const packages = servers.map(({ name, version }) => `${name}@${version}`)
// No server here needs the scripts of its packages.
const npm = ['install', '--ignore-scripts', '--no-audit', '--no-fund', ...packages]
const { status, stderr } = spawnSync('npm', npm, { cwd: folder, encoding: 'utf8' })
if (status !== 0) throw new Error(`npm ended with ${status}: ${stderr}`)

const rows: string[] = []
for (const { name, version, command, checked } of servers) {
  const file = join(folder, `${name.replaceAll('/', '-')}.json`)
  const tools = await toolsOf(command)
  writeFileSync(file, JSON.stringify({ tools }, null, 2))
  for (const [directory, rules] of directories) {
    const findings = lint(rules, subjectOfList(file))
    const counts = Map.groupBy(findings, ({ rule }) => rule)
    const summary = [...counts].map(([rule, { length }]) => `${rule} ${length}`).join(', ')
    rows.push(`| ${name} ${version} | ${tools.length} | ${directory} | ${summary || 'none'} |`)
    const expected = directory === 'registry' ? '' : checked[directory as keyof Server['checked']]
    if (summary !== expected) {
      console.error(`${name}, ${directory}: ${summary || 'none'}, and checked by hand: ${expected || 'none'}`)
      process.exitCode = 1
    }
    if (!values.findings) continue
    for (const { rule, level, line, problem } of findings)
      console.log(`${name}:${line} ${directory} ${level} ${rule}: ${problem}`)
  }
}
console.log(['| server | tools | directory | findings |', '|---|---|---|---|', ...rows].join('\n'))

/** Starts a server, and lists all its tools. */
async function toolsOf([program, ...args]: Server['command']): Promise<object[]> {
  const client = new Client({ name: 'edgemcp', version: '1.0.0' })
  const command = join(folder, 'node_modules/.bin', program)
  await client.connect(new StdioClientTransport({ command, args, cwd: folder, stderr: 'ignore' }))
  try {
    const tools: object[] = []
    for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
      const page = await client.listTools({ cursor })
      tools.push(...page.tools)
      cursor = page.nextCursor
    }
    return tools
  } finally {
    await client.close()
  }
}
