/** The Worker in a workerd of its own, with its storage on disk. It is ended by `kill -9`, and started again with the same storage. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { Readable } from 'node:stream'
import { build } from 'esbuild'
import { mintKeyRing } from '../../../worker/sealing/seal.ts'
import { type Replacement, replacing } from '../../simulation/platform/bundle.ts'

const root = resolve(import.meta.dirname, '../../..')
const binary: string = createRequire(import.meta.url)('workerd').default

export class Workerd implements Disposable {
  readonly #folder: string
  #child: ChildProcess | undefined
  #url: URL | undefined

  private constructor(folder: string) {
    this.#folder = folder
    process.once('exit', this.#kill)
  }

  /** @param outside the port of a proxy, which answers what the Worker requests */
  static async create(
    folder: string,
    { outside, timeoutMs, defects }: { outside: number; timeoutMs: number; defects: readonly Replacement[] },
  ): Promise<Workerd> {
    mkdirSync(join(folder, 'storage'))
    await build({
      absWorkingDir: root,
      entryPoints: ['test/events/crash/index.ts'],
      outfile: join(folder, 'worker.js'),
      bundle: true,
      format: 'esm',
      target: 'es2024',
      conditions: ['workerd', 'worker', 'browser'],
      external: ['cloudflare:*', 'node:*'],
      define: { 'process.env.NODE_ENV': '"production"', 'globalThis.process.env.NODE_ENV': '"production"' },
      plugins: defects.map(replacing),
      logLevel: 'error',
    })
    writeFileSync(join(folder, 'config.capnp'), configOf(outside, timeoutMs))
    return new Workerd(folder)
  }

  /** @throws Error while it does not run */
  get url(): URL {
    if (!this.#url) throw new Error('workerd does not run')
    return this.#url
  }

  /** @throws Error if it has ended without being killed */
  check(): void {
    const { exitCode = null, signalCode = null } = this.#child ?? {}
    if (exitCode ?? signalCode)
      throw new Error(`workerd has ended (${exitCode ?? signalCode}):\n${this.log.slice(-2000)}`)
  }

  async start(): Promise<void> {
    const log = openSync(join(this.#folder, 'log'), 'a')
    const child = spawn(binary, ['serve', 'config.capnp', '--experimental', '--control-fd=3'], {
      cwd: this.#folder,
      stdio: ['ignore', log, log, 'pipe'],
    })
    this.#child = child
    const control = child.stdio[3]
    if (!(control instanceof Readable)) throw new Error('workerd has no control descriptor')
    for await (const line of createInterface({ input: control })) {
      const { event, port } = JSON.parse(line)
      if (event !== 'listen') continue
      this.#url = new URL(`http://127.0.0.1:${port}/mcp`)
      return
    }
    throw new Error(`workerd did not start:\n${this.log}`)
  }

  async kill(): Promise<void> {
    const child = this.#child
    this.#url = undefined
    const closed = child && child.exitCode === null && child.signalCode === null && once(child, 'exit')
    this.#kill()
    await closed
  }

  /** What was printed. */
  get log(): string {
    return readFileSync(join(this.#folder, 'log'), 'utf8')
  }

  /** Ids of the objects that were stored. */
  get objectIds(): readonly string[] {
    return this.#files('*.sqlite').flatMap((file) => /^[\da-f]{64}(?=\.sqlite$)/.exec(basename(file)) ?? [])
  }

  /** The rows that objects store, by table. Call it while no process runs. */
  get storedRows(): Readonly<Record<string, number>> {
    const rows: Record<string, number> = {}
    for (const file of this.#files('*.sqlite')) {
      if (!/^[\da-f]{64}\.sqlite$/.test(basename(file))) continue
      const database = new DatabaseSync(file)
      const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all()
      for (const { name } of tables) {
        // Of workerd: when the alarm is set, and how large a backup is.
        if (String(name).startsWith('sqlite_') || name === '_cf_METADATA') continue
        const { count } = { ...database.prepare(`SELECT count(*) AS count FROM "${name}"`).get() }
        if (count !== 0) rows[String(name)] = (rows[String(name)] ?? 0) + Number(count)
      }
      database.close()
    }
    return rows
  }

  /** Returns those of the texts that a file of the storage, or the log, contains. Call it while no process runs. */
  leaked(texts: readonly string[]): readonly string[] {
    const all = [...this.#files('*').map((file) => readFileSync(file)), Buffer.from(this.log)]
    return texts.filter((text) => all.some((bytes) => bytes.includes(text)))
  }

  [Symbol.dispose](): void {
    process.off('exit', this.#kill)
    this.#kill()
  }

  #files(pattern: string): readonly string[] {
    return globSync(`storage/*/${pattern}`, { cwd: this.#folder }).map((path) => join(this.#folder, path))
  }

  readonly #kill = (): void => {
    this.#child?.kill('SIGKILL')
    this.#child = undefined
  }
}

function configOf(outside: number, timeoutMs: number): string {
  const { current, keys } = mintKeyRing()
  return `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "worker", worker = .worker),
    (name = "internet", external = (address = "127.0.0.1:${outside}", http = (style = proxy))),
    (name = "storage", disk = (path = "storage", writable = true)),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "worker")],
);

const worker :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  compatibilityDate = "2026-10-15",
  compatibilityFlags = ["enable_request_signal", "global_fetch_strictly_public"],
  bindings = [(name = "EDGEMCP_KEYS", text = "${current}:${keys[current]}"), (name = "TIMEOUT_MS", text = "${timeoutMs}")],
  durableObjectNamespaces = [(className = "McpEvents", uniqueKey = "McpEvents", enableSql = true)],
  durableObjectStorage = (localDisk = "storage"),
);
`
}
