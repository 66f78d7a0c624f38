/** A Worker in a `workerd` process of its own, with nothing in front of it, and the CPU time that process has used. */
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { build, type Plugin } from 'esbuild'

/** The binary itself, so that the process to be measured is the one that is started. */
const binary: string = createRequire(import.meta.url)('workerd').default
const root = join(import.meta.dirname, '..')

export type Worker = {
  /** The module with the Worker, seen from bench/. */
  entry: string
  /** Its Durable Object classes. */
  objects: readonly string[]
  compatibilityFlags: readonly string[]
  /** Texts in its `env`. */
  bindings?: Readonly<Record<string, string>>
  /** Its objects are evicted when they are idle, and their sockets stay. Left out: nothing is. */
  evicted?: boolean
  /** Changes the bundle. */
  plugins?: readonly Plugin[]
}

export type Process = {
  readonly url: URL
  /** Milliseconds of CPU that all threads of the process have used since it started. */
  cpu(): number
  /** Bytes of memory that the process has for itself at the moment. */
  memory(): number
  stop(): void
}

/** @param folder an empty one, which this process has for itself: bundle, configuration, and what its objects store */
export async function startWorkerd(worker: Worker, folder: string): Promise<Process> {
  mkdirSync(join(folder, 'storage'), { recursive: true })
  await bundle(worker, join(folder, 'worker.js'))
  writeFileSync(join(folder, 'config.capnp'), configOf(worker))
  const child = spawn(binary, ['serve', 'config.capnp', '--experimental', '--control-fd=3'], {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
  })
  const stop = () => {
    process.off('exit', stop)
    child.kill('SIGKILL')
  }
  process.once('exit', stop)
  for await (const line of createInterface({ input: child.stdio[3] as Readable })) {
    const { event, port } = JSON.parse(line) as { event: string; port: number }
    if (event !== 'listen') continue
    const url = new URL(`http://127.0.0.1:${port}/mcp`)
    return { url, cpu: () => cpuOf(child.pid), memory: () => memoryOf(child.pid), stop }
  }
  throw new Error(`workerd ended before it listened: ${worker.entry}`)
}

/** As scripts/size.ts bundles, and `wrangler deploy` does. */
async function bundle({ entry, plugins = [] }: Worker, outfile: string): Promise<void> {
  await build({
    entryPoints: [join(import.meta.dirname, entry)],
    outfile,
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2024',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:*', 'node:*'],
    absWorkingDir: root,
    plugins: [...plugins],
  })
}

function configOf({ objects, compatibilityFlags, bindings = {}, evicted = false }: Worker): string {
  const text = JSON.stringify
  // An object that is evicted while other servers have their turn would be started again within the next measurement.
  const namespaces = objects.map(
    (name) => `(className = ${text(name)}, uniqueKey = ${text(name)}, enableSql = true, preventEviction = ${!evicted})`,
  )
  const texts = Object.entries(bindings).map(([name, value]) => `(name = ${text(name)}, text = ${text(value)})`)
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
  compatibilityFlags = ${text(compatibilityFlags)},
  bindings = [${texts.join(', ')}],
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
  // The name in front may contain anything, a parenthesis included. After it, the state is the third field.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [user, system] = [fields[14 - 3], fields[15 - 3]]
  return (Number(user) + Number(system)) * tick
}

/** @see https://man7.org/linux/man-pages/man5/proc_pid_status.5.html */
function memoryOf(pid: number | undefined): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) * 1024
}
