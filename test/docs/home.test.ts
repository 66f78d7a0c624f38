/** The home page of the site: its server answers its command as it says, and its figures are those of the repository. */
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { startServer } from '../support/server.ts'
import { pageAt, root } from './pages.ts'

const textOf = (path: string) => readFileSync(join(root, path), 'utf8')
const home = textOf('docs/index.md').replace(/\s+/g, ' ')
const blocksOf = (language: string) =>
  (pageAt('docs/index.md')?.blocks ?? []).filter((block) => block.language === language).map(({ code }) => code)

const folder = '.wrangler/home'
afterAll(() => rmSync(join(root, folder), { recursive: true, force: true }))

/** Runs the command of the page against a server, and returns what it prints. */
async function callWithCurl(url: URL): Promise<string> {
  const command = blocksOf('sh').find((code) => code.startsWith('curl')) ?? ''
  const { stdout } = await promisify(execFile)('sh', ['-c', command.replace('http://127.0.0.1:8787/mcp', url.href)])
  return stdout
}

test('the command of the page calls the tool of the page, and that of examples/hello', async () => {
  mkdirSync(join(root, folder), { recursive: true })
  writeFileSync(join(root, folder, 'index.ts'), blocksOf('ts').join())
  writeFileSync(
    join(root, folder, 'wrangler.toml'),
    'name = "home"\nmain = "index.ts"\ncompatibility_date = "2026-10-15"\ncompatibility_flags = ["enable_request_signal"]\n',
  )
  await using shown = await startServer(folder)
  await using example = await startServer('examples/hello')
  const [answer = ''] = blocksOf('json')
  expect(await callWithCurl(shown.url)).toBe(answer.trim())
  expect(await callWithCurl(example.url)).toBe(answer.trim())
})

test('the figures of the page are those of the benchmarks, the costs and the conformance run', () => {
  const { comparison } = JSON.parse(textOf('bench/figures.json'))
  const median = (server: string) => comparison.cpu.echo[server].split(' ')[0]
  expect(home).toContain(`A tool call takes ${median('edgemcp')} times the CPU time of a hand-written Worker.`)
  expect(home).toContain(`${median('SDK v2')} times with the official SDK`)
  expect(home).toContain(`${median('agents, createMcpHandler')} with \`createMcpHandler\``)
  expect(home).toContain(`${median('agents, McpAgent')} with \`McpAgent\``)

  const [replayed] = /(?<=\| 10,000 events replayed, events\/s \| [^|]* \| )[\d,]+/.exec(
    textOf('docs/how-it-works/performance.md'),
  ) ?? ['']
  expect(home).toContain(`10,000 missed events at ${replayed} a second`)

  const costs = textOf('docs/guides/costs.md')
  const costOf = (operation: string) => costs.split(`| ${operation} | `)[1]?.split(':')[0]
  expect(home).toContain(`A million stateless calls cost ${costOf('a stateless call (2026-07-28)')} `)
  expect(home).toContain(`a million calls in sessions cost ${costOf('a call in a session')}.`)

  const script = textOf('scripts/conformance.ts')
  const scored = (revision: string) => new RegExp(`\\('${revision}', (\\d+)`).exec(script)?.[1]
  expect(home).toContain(`the ${scored('2026-07-28')} scenarios that 2026-07-28 requires`)
  expect(home).toContain(`the ${scored('2025-11-25')} of 2025-11-25`)
  expect(home).toContain(`${scored('2025-06-18')} for 2025-06-18, ${scored('2025-03-26')} for 2025-03-26.`)
  expect(textOf('test/conformance/expected-failures.yaml')).toContain('server: []')
})
