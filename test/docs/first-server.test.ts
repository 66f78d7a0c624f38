/** The commands and code of docs/start/first-server.md and docs/guides/keys.md do what these pages say. */
import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { pageAt, root } from './pages.ts'

const run = promisify(execFile)
const blocksOf = (path: string, language: string) =>
  (pageAt(path)?.blocks ?? []).filter((block) => block.language === language).map(({ code }) => code)

const folder = '.wrangler/getting-started'
const place = join(root, folder)
const [server = '', client = ''] = blocksOf('docs/start/first-server.md', 'ts')
const [configuration = ''] = blocksOf('docs/start/first-server.md', 'toml')

let started: TestServer
beforeAll(async () => {
  rmSync(place, { recursive: true, force: true })
  mkdirSync(place, { recursive: true })
  writeFileSync(join(place, 'index.ts'), server)
  writeFileSync(join(place, 'wrangler.toml'), configuration)
  writeFileSync(join(place, 'client.ts'), client)
  started = await startServer(folder, { EDGEMCP_KEYS: newKey() })
})
afterAll(async () => {
  await started?.[Symbol.asyncDispose]()
  rmSync(place, { recursive: true, force: true })
})

test('the client of the page prints the output of the page', async () => {
  const { stdout } = await run(process.execPath, [join(place, 'client.ts'), started.url.href])
  expect(stdout).toBe(blocksOf('docs/start/first-server.md', '').at(-1))
})

test('the plugin page() serves HTML at /', async () => {
  const response = await fetch(new URL('/', started.url))
  expect(response.headers.get('Content-Type')).toContain('text/html')
})

test('a key made by the command of docs/guides/keys.md seals and opens session ids', async () => {
  await using client = await connect(started.url, { revision: '2025-11-25' })
  expect(client.session).toMatch(/^k1\./)
  await client.callTool('greet', { name: 'Ada' })
})

/** Runs the part of the page's command that prints a key. */
function newKey(): string {
  const line = blocksOf('docs/guides/keys.md', 'sh').find((code) => code.includes('EDGEMCP_KEYS')) ?? ''
  const script = /^node -p "(.*)"/.exec(line)?.[1] ?? ''
  return execFileSync(process.execPath, ['-p', script], { encoding: 'utf8' })
}
