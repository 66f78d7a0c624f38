/** A Worker in a separate `workerd` process, without a proxy, and the CPU time of that process. */
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { builtinModules, createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { build, type Plugin } from 'esbuild'
import { defaultSizes, type Offer, type Sizes } from './servers/offer.ts'

/** The binary itself, so that its process is measured, and not a parent. */
const binary: string = createRequire(import.meta.url)('workerd').default
const root = join(import.meta.dirname, '..')

/** Excludes code for development, as in a deployment. */
const production = Object.fromEntries(
  ['process.env.NODE_ENV', 'global.process.env.NODE_ENV', 'globalThis.process.env.NODE_ENV'].map((name) => [
    name,
    '"production"',
  ]),
)

/** Packages that import or require `path` get `node:path`, as in `wrangler deploy`. */
const nodeModules: Plugin = {
  name: 'node-modules',
  setup({ onResolve, onLoad }) {
    const names = builtinModules.filter((name) => !name.startsWith('_')).map((name) => name.replace(/^node:/, ''))
    onResolve({ filter: new RegExp(`^(node:)?(${names.join('|')})$`) }, ({ path, kind }) => {
      const name = `node:${path.replace(/^node:/, '')}`
      return kind === 'require-call' ? { path: name, namespace: 'required' } : { path: name, external: true }
    })
    onLoad({ filter: /./, namespace: 'required' }, ({ path }) => ({
      contents: `import it from ${JSON.stringify(path)}; module.exports = it`,
    }))
  },
}

/** Development servers provide this module. workerd does not, and no benchmark sends mail. */
const noEmail: Plugin = {
  name: 'no-email',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^cloudflare:email$/ }, ({ path }) => ({ path, namespace: 'none' }))
    onLoad({ filter: /./, namespace: 'none' }, () => ({ contents: 'export class EmailMessage {}' }))
  },
}

export type Worker = {
  /** The module of the Worker, relative to bench/. */
  entry: string
  /** Its Durable Object classes. */
  objects: readonly string[]
  compatibilityFlags: readonly string[]
  /** Strings in its `env`. */
  bindings?: Readonly<Record<string, string>>
  /** Evicts idle objects, and hibernates their WebSockets. Default: no evictions. */
  evicted?: boolean
  /** An esbuild plugin for the bundle. */
  plugins?: readonly Plugin[]
  /** The offer of servers that are compared. Default: `plain`. */
  offer?: Offer
  /** Default: `defaultSizes`. */
  sizes?: Partial<Sizes> | undefined
  /** Keeps the names of functions, for profiles. */
  isReadable?: boolean
}

export type Process = Disposable & {
  readonly url: URL
  /** The address for developer tools; `undefined` without them. */
  readonly inspector: URL | undefined
  /** Milliseconds of CPU that all threads of the process used since its start. */
  cpu(): number
  /** Bytes of memory that the process uses at the moment. */
  memory(): number
  stop(): void
}

/** @param folder an empty folder for this process: bundle, configuration, and data of its objects */
export async function startWorkerd(
  worker: Worker,
  folder: string,
  { inspected = false }: { inspected?: boolean } = {},
): Promise<Process> {
  await prepare(worker, folder)
  const options = inspected ? [...serve, '--inspector-addr=127.0.0.1:0'] : serve
  const child = spawn(binary, options, { cwd: folder, stdio: ['ignore', 'inherit', 'inherit', 'pipe'] })
  const stop = () => {
    process.off('exit', stop)
    child.kill('SIGKILL')
  }
  // Before its folder is deleted.
  process.prependOnceListener('exit', stop)
  const { url, inspector } = await listening(child.stdio[3] as Readable, inspected)
  if (url)
    return {
      url,
      inspector,
      cpu: () => cpuOf(child.pid),
      memory: () => memoryOf(child.pid),
      stop,
      [Symbol.dispose]: stop,
    }
  throw new Error(`workerd ended before it listened: ${worker.entry}`)
}

/** Writes the files that `workerd serve` needs into a folder. */
export async function prepare(worker: Worker, folder: string): Promise<void> {
  mkdirSync(join(folder, 'storage'), { recursive: true })
  await bundle(worker, join(folder, 'worker.js'))
  writeFileSync(join(folder, 'config.capnp'), configOf(worker))
}

/**
 * Starts a process, sends it requests, and ends it.
 *
 * @param folder a folder with the files
 * @returns milliseconds of CPU of the whole process, more exactly than /proc
 */
export async function startTimed(folder: string, ask: (url: URL) => Promise<void>): Promise<number> {
  // The shell outlives the process that it times, to report the time.
  const script = 'trap : TERM; TIMEFORMAT="%3U %3S"; time "$@" 2>/dev/null'
  const child = spawn('bash', ['-c', script, 'bash', binary, ...serve], {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'pipe', 'pipe'],
    detached: true,
  })
  const stop = (signal: 'SIGTERM' | 'SIGKILL') => child.pid && process.kill(-child.pid, signal)
  const kill = () => stop('SIGKILL')
  process.once('exit', kill)
  const times = text(child.stderr as Readable)
  const { url } = await listening(child.stdio[3] as Readable)
  if (!url) throw new Error(`workerd ended before it listened, in ${folder}`)
  await ask(url)
  stop('SIGTERM')
  const spent = (await times).trim().split('\n').at(-1)?.split(' ').map(Number) ?? []
  process.off('exit', kill)
  return spent.reduce((sum, seconds) => sum + seconds * 1000, 0)
}

const serve = ['serve', 'config.capnp', '--experimental', '--control-fd=3']

async function listening(control: Readable, inspected = false): Promise<{ url?: URL; inspector?: URL }> {
  let [url, inspector]: (URL | undefined)[] = []
  for await (const line of createInterface({ input: control })) {
    const { event, port } = JSON.parse(line) as { event: string; port: number }
    if (event === 'listen') url = new URL(`http://127.0.0.1:${port}/mcp`)
    if (event === 'listen-inspector') inspector = new URL(`http://127.0.0.1:${port}/`)
    if (url && (inspector || !inspected)) break
  }
  return { url, inspector }
}

/**
 * Bundles like scripts/size.ts and `wrangler deploy`.
 *
 * @param outside packages that are not bundled
 */
export async function bundle(
  { entry, plugins = [], offer = 'plain', sizes, isReadable = false }: Worker,
  outfile: string,
  outside: readonly string[] = [],
): Promise<void> {
  const { tools, steps, pauseMs, resultCharacters } = { ...defaultSizes, ...sizes }
  await build({
    entryPoints: [resolve(import.meta.dirname, entry)],
    outfile,
    bundle: true,
    minify: !isReadable,
    format: 'esm',
    target: 'es2024',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:*', 'node:*', ...outside],
    define: {
      ...production,
      OFFER: JSON.stringify(offer),
      TOOLS: String(tools),
      STEPS: String(steps),
      PAUSE_MS: String(pauseMs),
      RESULT_CHARACTERS: String(resultCharacters),
    },
    absWorkingDir: root,
    plugins: [...plugins, nodeModules, noEmail],
  })
}

function configOf({ objects, compatibilityFlags, bindings = {}, evicted = false }: Worker): string {
  const quoted = JSON.stringify
  // An object that is evicted during the turns of other servers would start again in the next measurement.
  const namespaces = objects.map(
    (name) =>
      `(className = ${quoted(name)}, uniqueKey = ${quoted(name)}, enableSql = true, preventEviction = ${!evicted})`,
  )
  const bound = [
    ...Object.entries(bindings).map(([name, value]) => `(name = ${quoted(name)}, text = ${quoted(value)})`),
    ...objects.map((name) => `(name = ${quoted(name)}, durableObjectNamespace = ${quoted(name)})`),
  ]
  return `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "worker", worker = .worker),
    (name = "storage", disk = (path = "storage", writable = true)),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "worker")],
);

const worker :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  compatibilityDate = "2026-10-15",
  compatibilityFlags = ${quoted(compatibilityFlags)},
  bindings = [${bound.join(', ')}],
  durableObjectNamespaces = [${namespaces.join(', ')}],
  durableObjectStorage = (localDisk = "storage"),
);
`
}

/** Milliseconds in a unit of /proc. */
const tick = 1000 / Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

/** @see https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html */
function cpuOf(pid: number | undefined): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The name in front may contain anything, such as a parenthesis. After it, the state is the third field.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [user, system] = [fields[14 - 3], fields[15 - 3]]
  return (Number(user) + Number(system)) * tick
}

/** @see https://man7.org/linux/man-pages/man5/proc_pid_status.5.html */
function memoryOf(pid: number | undefined): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) * 1024
}
