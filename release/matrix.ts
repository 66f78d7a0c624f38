/**
 * Tries the package with the versions of other software that it supports: `npm run matrix`. For each row, a new project of the template `hello`
 * gets these versions, checks its types, and bundles its Worker for a deployment; where its Node.js runs them, it also runs its tests, and `wrangler
 * dev` answers a client. Exits with 1 for a row that fails.
 *
 * `--only <names>`: the rows to try.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { Folder } from '../bench/folder.ts'
import { exitOnSignals, pack } from './pack.ts'

type Row = {
  readonly name: string
  /** The version of Node.js. Default: the newest. */
  readonly node?: string
  /** Packages of the project, instead of those of the template. */
  readonly packages?: Readonly<Record<string, string>>
  readonly compatibilityDate?: string
  /** Whether its Node.js is too old for wrangler and vitest. */
  readonly onlyCompiles?: boolean
}

const root = resolve(import.meta.dirname, '..')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const oldestWrangler = manifest.peerDependencies.wrangler.replace('>=', '')

const rows: readonly Row[] = [
  { name: 'node-20', node: '20', onlyCompiles: true },
  { name: 'node-22', node: '22' },
  { name: 'node-24', node: '24' },
  { name: 'oldest-wrangler', packages: { wrangler: oldestWrangler } },
  { name: 'newest-wrangler', packages: { wrangler: 'latest', '@cloudflare/workers-types': 'latest' } },
  { name: 'oldest-typescript', packages: { typescript: '5.7' } },
  { name: 'newest-typescript', packages: { typescript: 'latest', '@cloudflare/workers-types': 'latest' } },
  { name: 'oldest-date', compatibilityDate: '2026-02-24' },
]

const { values } = parseArgs({ options: { only: { type: 'string' } } })
const only = values.only?.split(',')
const unknown = only?.find((name) => !rows.some((row) => row.name === name))
if (unknown !== undefined) throw new Error(`There is no row ${unknown}, but ${rows.map(({ name }) => name).join(', ')}`)
exitOnSignals()
using temporary = new Folder()
const folder = temporary.path
/** `wrangler dev`, while it runs. */
let server: ChildProcess | undefined
process.once('exit', () => stopServer())
const { file: tarball } = pack(root, folder)
const results: string[] = []
for (const row of rows.filter(({ name }) => only?.includes(name) ?? true)) results.push(await attempt(row))
console.log(['| row | Node.js | result |', '| --- | --- | --- |', ...results].join('\n'))

/** Returns a line of the table. */
async function attempt({ name, node = '24', packages, compatibilityDate, onlyCompiles }: Row): Promise<string> {
  const path = join(folder, name)
  const tools = join(path, 'tools')
  mkdirSync(tools, { recursive: true })
  writeFileSync(join(tools, 'package.json'), '{"private":true}')
  const inherited = Object.entries(process.env).filter(([key]) => !/^(npm_|NODE_ENV$|INIT_CWD$)/.test(key))
  const env = { ...Object.fromEntries(inherited), CI: '1', WRANGLER_SEND_METRICS: 'false' }
  const run = (cwd: string, command: string, ...params: string[]) => {
    const { status, stdout, stderr } = spawnSync(command, params, {
      cwd,
      env: { ...env, PATH: `${join(tools, 'node_modules/.bin')}:${process.env.PATH}` },
      encoding: 'utf8',
      timeout: 300_000,
    })
    if (status !== 0) throw new Error(`${command} ${params.join(' ')} ended with ${status}:\n${stdout}\n${stderr}`)
    return stdout.trim()
  }
  let version = node
  try {
    run(tools, 'npm', 'install', '--no-audit', '--no-fund', `node@${node}`, tarball)
    version = run(path, 'node', '--version')
    run(path, 'edgemcp', 'init', 'project', '--template', 'hello', '--yes')
    const project = join(path, 'project')
    change(join(project, 'package.json'), (text) => {
      const { dependencies, devDependencies, ...rest } = JSON.parse(text)
      return JSON.stringify({ ...rest, dependencies, devDependencies: { ...devDependencies, ...packages } })
    })
    if (compatibilityDate !== undefined) {
      change(join(project, 'wrangler.toml'), (text) =>
        text.replace(/^compatibility_date = ".*"$/m, `compatibility_date = "${compatibilityDate}"`),
      )
    }
    run(project, 'npm', 'install', '--no-audit', '--no-fund')
    run(project, 'npx', 'tsc')
    if (!onlyCompiles) {
      run(project, 'npm', 'test')
      run(project, 'npx', 'wrangler', 'deploy', '--dry-run')
      await serve(project, { ...env, PATH: `${join(tools, 'node_modules/.bin')}:${process.env.PATH}` })
    }
    return `| ${name} | ${version} | works |`
  } catch (problem) {
    console.error(`${name}: ${problem instanceof Error ? problem.message : problem}`)
    process.exitCode = 1
    return `| ${name} | ${version} | **fails** |`
  }
}

function change(path: string, edit: (text: string) => string): void {
  writeFileSync(path, edit(readFileSync(path, 'utf8')))
}

/** Starts `wrangler dev`, and calls the tool of the template. */
async function serve(project: string, env: NodeJS.ProcessEnv): Promise<void> {
  const child = spawn('npx', ['wrangler', 'dev', '--port', '0'], { cwd: project, env, detached: true })
  server = child
  try {
    const url = await new Promise<string>((resolve, reject) => {
      createInterface(child.stdout).on('line', (line) => {
        const [found] = /http:\/\/(localhost|127\.0\.0\.1):\d+/.exec(line) ?? []
        if (found) resolve(found)
      })
      child.once('exit', () => reject(new Error('wrangler dev has ended')))
    })
    const response = await fetch(`${url}/mcp`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'matrix', version: '1' } },
      }),
    })
    const text = await response.text()
    if (!text.includes('serverInfo')) throw new Error(`initialize: ${response.status} ${text}`)
  } finally {
    stopServer()
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  }
}

/** Ends `wrangler dev` with all processes that it has started. */
function stopServer(): void {
  if (server?.pid !== undefined && server.exitCode === null) process.kill(-server.pid, 'SIGKILL')
  server = undefined
}
