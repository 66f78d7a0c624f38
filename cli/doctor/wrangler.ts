/** The wrangler of a project: reads its configuration, builds and runs it. */
import { type ChildProcess, execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { CliError } from '../cli-error.ts'
import { withPath } from '../files.ts'
import { type RawConfig, remoteBindings } from './config.ts'

export type Wrangler = {
  /** @throws Error with the mistake in the file */
  readConfig(file: string): RawConfig
  /** Reads a text as the content of a configuration file. @throws Error with the mistake in the text */
  parseConfig(file: string, text: string): RawConfig
  /** @param date the compatibility date, if the file has none. @throws Error with the errors of the build */
  bundle(file: string, date: string): Promise<Bundle>
  /**
   * Starts a Worker for a moment, in development mode.
   *
   * @param vars variables besides those of the project
   * @param urlsOf returns the URLs to request, from the log of the start. Default: none
   */
  run(file: string, vars: Vars, urlsOf?: UrlsOf): Promise<Ran>
}

export type UrlsOf = (log: readonly string[]) => readonly string[]

/** Responses to GET, by URL. */
export type Pages = Readonly<Record<string, Page>>

/** The type is that of `Content-Type`, or empty. */
export type Page = { readonly status: number; readonly type: string; readonly text: string }

export type Vars = Readonly<Record<string, string>>

/** The bundle of a deployment. */
export type Bundle = {
  /** The exports of the entry module. */
  readonly exports: readonly string[]
  /** Bytes of the whole upload, after gzip. */
  readonly size: number
  /** Files in the bundle, relative to the project's folder, with their bytes. */
  readonly inputs: readonly { path: string; bytes: number }[]
}

export type Ran = {
  readonly isUp: boolean
  /** The error of a request that no handler of a server gets. */
  readonly failure?: string | undefined
  readonly log: readonly string[]
  /** Of the URLs that were requested. A URL without a response within seconds is missing. */
  readonly pages?: Pages
}

type Module = {
  experimental_readRawConfig(from: { config: string }): { rawConfig: RawConfig }
  createTestHarness(options: object): Harness
}
type Target = { fetch(url: string, init: { method: string }): Promise<Answer> }
type Harness = Target & {
  listen(): Promise<unknown>
  getWorker(): Target
  getLogs(): { message: string }[]
  close(): Promise<void>
}
type Answer = {
  status: number
  headers: Pick<Headers, 'get'>
  body: { cancel(): Promise<void> } | null
  text(): Promise<string>
}
type Metafile = {
  outputs: Record<string, { entryPoint?: string; exports: string[]; inputs: Record<string, { bytesInOutput: number }> }>
}

const quiet = { WRANGLER_SEND_METRICS: 'false', WRANGLER_LOG: 'none', CLOUDFLARE_CF_FETCH_ENABLED: 'false' }

/** @throws CliError when the project has no wrangler */
export function wranglerOf(folder: string): Wrangler {
  const require = createRequire(join(folder, 'package.json'))
  let program: string
  try {
    program = require.resolve('wrangler')
  } catch (problem) {
    const { code, message } = problem as Error & { code?: string }
    if (code !== 'MODULE_NOT_FOUND') {
      const [reason] = message.split('\n')
      throw new CliError(`Cannot find the wrangler of this project: ${reason} Correct the file, and try again.`)
    }
    throw new CliError('There is no wrangler in this project: npm install --save-dev wrangler, and try again.')
  }
  // wrangler reads these variables once, when it is loaded.
  for (const [name, value] of Object.entries(quiet)) process.env[name] ??= value
  const wrangler = require(program) as Module

  const readConfig = (path: string) => wrangler.experimental_readRawConfig({ config: path }).rawConfig
  return {
    readConfig: (file) => readConfig(join(folder, file)),
    parseConfig(file, text) {
      const out = createFolder()
      try {
        const path = join(out, basename(file))
        writeFileSync(path, text)
        return readConfig(path)
      } finally {
        removeFolder(out)
      }
    },
    async bundle(file, date) {
      const out = createFolder()
      try {
        await build(program, folder, out, ['--config', file, '--compatibility-date', date])
        return bundleIn(out)
      } finally {
        removeFolder(out)
      }
    },
    run: (file, vars, urlsOf) =>
      inDevelopment(() => run(wrangler, folder, file, vars, readConfig(join(folder, file)), urlsOf)),
  }
}

/** Temporary folders, and builds that write into them. None of them outlives this process. */
const folders = new Set<string>()
const builds = new Set<ChildProcess>()

let isWatching = false

function createFolder(): string {
  // A signal between the creation of a folder and a listener for signals would leave the folder behind.
  if (!isWatching) process.on('SIGINT', endBy).on('SIGTERM', endBy).on('SIGHUP', endBy).on('exit', removeAll)
  isWatching = true
  const folder = withPath('create a folder in', tmpdir(), () => mkdtempSync(join(tmpdir(), 'edgemcp-doctor-')))
  folders.add(folder)
  return folder
}

function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
  folders.delete(folder)
}

function removeAll(): void {
  for (const build of builds) build.kill('SIGKILL')
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
}

/**
 * A build that still runs could create its folder again, so this process waits for its end. It stays a listener until then:
 * the listeners of wrangler end a process that has no others.
 */
async function endBy(signal: NodeJS.Signals): Promise<void> {
  const ended = [...builds].map((build) => once(build, 'close'))
  removeAll()
  await Promise.all(ended)
  removeAll()
  process.off('SIGINT', endBy).off('SIGTERM', endBy).off('SIGHUP', endBy)
  process.kill(process.pid, signal)
}

const metafile = 'edgemcp-metafile.json'

function build(program: string, folder: string, out: string, options: readonly string[]): Promise<void> {
  const args = [program, 'deploy', '--dry-run', ...options, '--outdir', out, '--metafile', join(out, metafile)]
  const env = { ...process.env, WRANGLER_LOG: 'error', NODE_ENV: 'production', FORCE_COLOR: '0' }
  return new Promise((resolve, reject) => {
    const child = execFile(process.execPath, args, { cwd: folder, env, maxBuffer: 1e8 }, (error, stdout, stderr) => {
      builds.delete(child)
      if (error) reject(new Error(messageIn(`${stderr}\n${stdout}`)))
      else resolve()
    })
    builds.add(child)
  })
}

/** The errors of a build, without frames and color codes. */
function messageIn(output: string): string {
  const lines = output
    // biome-ignore lint/suspicious/noControlCharactersInRegex: terminals begin their codes with one
    .replace(/\u001b\[[\d;]*m/g, '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line && !/^🪵|^If you think this is a bug|^\[?⛅|^─+$/u.test(line))
  const from = lines.findIndex((line) => /ERROR/.test(line))
  const shown = lines.slice(Math.max(from, 0), Math.max(from, 0) + 6)
  return shown.map((line) => line.replace(/^✘\s*|\[ERROR\]\s*/gu, '').trim()).join('\n')
}

function bundleIn(out: string): Bundle {
  const { outputs } = JSON.parse(readFileSync(join(out, metafile), 'utf8')) as Metafile
  const entry = Object.values(outputs).find(({ entryPoint }) => entryPoint !== undefined)
  const uploaded = readdirSync(out, { recursive: true, encoding: 'utf8', withFileTypes: true })
    .filter(
      (file) => file.isFile() && file.name !== metafile && file.name !== 'README.md' && !file.name.endsWith('.map'),
    )
    .map((file) => readFileSync(join(file.parentPath ?? out, file.name)))
  return {
    exports: entry?.exports ?? [],
    size: uploaded.reduce((sum, bytes) => sum + gzipSync(bytes).byteLength, 0),
    inputs: Object.entries(entry?.inputs ?? {}).map(([path, { bytesInOutput }]) => ({ path, bytes: bytesInOutput })),
  }
}

/** The mark of `worker/plugins/development/described.ts`. */
export const description = 'edgemcp describes itself: '

async function run(
  wrangler: Module,
  folder: string,
  file: string,
  vars: Vars,
  config: RawConfig,
  urlsOf: UrlsOf = () => [],
): Promise<Ran> {
  // A binding without a local simulator makes wrangler require an account. The server only starts here, and calls no binding.
  const bindingOverrides = Object.fromEntries(remoteBindings(config).map((name) => [name, config.name ?? 'worker']))
  const worker = { configPath: file, vars: { ...vars, EDGEMCP_DESCRIBE: 'yes' }, bindingOverrides }
  const harness = wrangler.createTestHarness({ root: folder, workers: [worker] })
  const log = () => harness.getLogs().map(({ message }) => message)
  try {
    await harness.listen()
    // A Worker prints its startup messages within milliseconds, or not at all. No event announces them.
    for (let tries = 0; tries < 40 && !log().some((line) => line.startsWith(description)); tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    // A server that is created for a request is not a server of the startup: the log is read before the request.
    const lines = log()
    const failure = await failureOf(harness)
    // The worker gets the URL as it is: the harness replaces its host with that of the first route.
    return { isUp: true, failure, log: lines, pages: await pagesOf(harness.getWorker(), urlsOf(lines)) }
  } catch (problem) {
    return { isUp: false, log: [...log(), (problem as Error).message] }
  } finally {
    await harness.close().catch(() => {})
  }
}

/** Sends a request that no handler of a server gets. @returns its error */
export async function failureOf(harness: Target): Promise<string | undefined> {
  try {
    const { status, body } = await harness.fetch('http://localhost/mcp', { method: 'OPTIONS' })
    await body?.cancel()
    return status < 500 ? undefined : `status ${status}`
  } catch (problem) {
    return (problem as Error).message
  }
}

/** Requests URLs. One that needs the network may never get a response. */
export async function pagesOf(worker: Target, urls: readonly string[]): Promise<Pages> {
  const page = async (url: string) => {
    const response = await worker.fetch(url, { method: 'GET' })
    const type = response.headers.get('Content-Type') ?? ''
    return [url, { status: response.status, type, text: await response.text() }] as const
  }
  const late = AbortSignal.timeout(5_000)
  const isLate = new Promise<undefined>((resolve) => late.addEventListener('abort', () => resolve(undefined)))
  const pages = await Promise.all(urls.map((url) => Promise.race([page(url).catch(() => undefined), isLate])))
  return Object.fromEntries(pages.filter((one) => one !== undefined))
}

async function inDevelopment<T>(work: () => Promise<T>): Promise<T> {
  const { NODE_ENV } = process.env
  process.env.NODE_ENV = 'development'
  try {
    return await work()
  } finally {
    if (NODE_ENV === undefined) delete process.env.NODE_ENV
    else process.env.NODE_ENV = NODE_ENV
  }
}
