/** Starts a Worker in real workerd behind a real port. */
import { extname, resolve } from 'node:path'
import { convertV4MiniflareOptions, Miniflare, NoOpLog, type WorkerdStructuredLog } from 'miniflare'
import {
  createTestHarness,
  unstable_getMiniflareWorkerOptions as optionsOf,
  unstable_readConfig as readConfig,
  type TestHarness,
  type Unstable_Config as WorkerConfig,
  type WorkerHandle,
} from 'wrangler'
import { bundleOf } from './bundle.ts'

const root = resolve(import.meta.dirname, '../..')

/** What tests use of the test harness of wrangler. */
export type Harness = Pick<TestHarness, 'fetch' | 'getLogs' | 'clearLogs' | 'close'> & {
  getWorker(): Pick<WorkerHandle, 'evictDurableObject' | 'listDurableObjectIds' | 'getDurableObjectStorage'>
}

export type TestServer = {
  url: URL
  harness: Harness
  /**
   * Starts the Worker again, as `wrangler dev` does when a file changes: with its storage and caches, at the same URL.
   *
   * @param changed secrets
   */
  reload(changed?: Record<string, string>): Promise<void>
} & AsyncDisposable

/** A server that can be deployed again. */
export type DeployableServer = Omit<TestServer, 'harness'> & { harness: TestHarness }

/** Returns what a Worker has logged so far. A line may arrive after the response to its request: see `expect.poll`. */
export const logText = ({ harness }: { readonly harness: Pick<Harness, 'getLogs'> }): string =>
  harness
    .getLogs()
    .map(({ message }) => message)
    .join('\n')

/** Answers a request of a Worker in the place of the internet; `undefined`: the request is sent. */
export type Internet = (request: Request) => Response | Promise<Response> | undefined

/**
 * Starts it without wrangler, which would bundle it for each start, and put a second runtime in front of it: together,
 * 60 % of the processor time of a start.
 *
 * @param folder where the wrangler.toml is, from the root of the repository
 * @param internet answers what the Worker requests, whether or not it has the flag `global_fetch_strictly_public`
 */
export async function startServer(
  folder: string,
  secrets: Record<string, string> = {},
  internet?: Internet,
): Promise<TestServer> {
  const config = readConfig({ config: resolve(root, folder, 'wrangler.toml') }, { hideWarnings: true })
  // Wrangler brings the modules of Node.js.
  if (config.compatibility_flags.includes('nodejs_compat')) return await startWithWrangler(folder, secrets)
  return await startWorker(config, secrets, undefined, internet)
}

/**
 * @param mode the value of `process.env.NODE_ENV` in the Worker. Default: that of this process
 * @param logs receives what the Worker prints, also when it does not start
 */
export async function startWorker(
  config: WorkerConfig,
  secrets: Record<string, string>,
  mode = process.env.NODE_ENV ?? 'development',
  internet: Internet = () => undefined,
  logs: WorkerdStructuredLog[] = [],
): Promise<TestServer> {
  const optionsWith = (changed: Record<string, string> = {}) =>
    runtimeOptions(config, { ...secrets, ...changed }, mode, internet, (log) => logs.push(log))
  const runtime = new Miniflare(await optionsWith())
  const close = () => runtime.dispose()
  const url = await runtime.ready.catch(async (problem) => {
    await close()
    throw problem
  })
  const name = config.name ?? ''
  const harness: Harness = {
    // Types of undici come from the runtime here, and from Node.js there.
    fetch: (input, init) =>
      runtime.dispatchFetch(typeof input === 'string' ? new URL(input, url) : input, init as never) as never,
    getLogs: () => structuredClone(logs),
    clearLogs: () => {
      logs.length = 0
    },
    getWorker: () => ({
      evictDurableObject: (className, options) => runtime.unsafeEvictDurableObject(name, className, options),
      listDurableObjectIds: (className) => runtime.listDurableObjectIds(className, name),
      getDurableObjectStorage: (className, options) => runtime.unsafeGetDurableObjectStorage(name, className, options),
    }),
    close,
  }
  return {
    url: new URL('/mcp', url),
    harness,
    reload: async (changed) => runtime.setOptions(await optionsWith(changed)),
    [Symbol.asyncDispose]: close,
  }
}

async function runtimeOptions(
  config: WorkerConfig,
  secrets: Record<string, string>,
  mode: string,
  internet: Internet,
  onLog: (log: WorkerdStructuredLog) => void,
) {
  const { workerOptions, define = {}, main = '', externalWorkers } = optionsOf(config)
  const { modulesRules: _, ...options } = workerOptions
  const texts = config.rules.filter(({ type }) => type === 'Text').flatMap(({ globs }) => globs)
  const loader = Object.fromEntries(texts.map((glob) => [extname(glob), 'text' as const]))
  const contents = await bundleOf({ main, mode, define, loader })
  const worker = {
    ...options,
    bindings: Object.assign({}, options.bindings, secrets),
    modules: [{ type: 'ESModule' as const, path: 'index.js', contents }],
    // Types of undici come from the runtime here, and from Node.js there.
    outboundService: async (request: unknown) =>
      ((await internet(request as never)) ?? (await send(request as never))) as never,
  }
  // A script that a binding names is this Worker in another isolate, without that binding.
  const others = new Set(config.durable_objects.bindings.flatMap(({ script_name: name }) => name ?? []))
  const own = Object.fromEntries(
    Object.entries(options.durableObjects ?? {}).filter(([, to]) => Object(to).scriptName === undefined),
  )
  return convertV4MiniflareOptions({
    host: '127.0.0.1',
    port: 0,
    log: new NoOpLog(),
    logRequests: false,
    unsafeTriggerHandlers: true,
    unsafeInspectDurableObjects: true,
    handleStructuredLogs: onLog,
    workers: [
      { ...worker, name: config.name },
      ...[...others].map((name) => ({ ...worker, name, durableObjects: own })),
      ...externalWorkers,
    ],
  })
}

/** Sends a request of a Worker, which follows redirects itself, or does not. */
const send = ({ url, method, headers, body, signal }: Request) =>
  fetch(url, { method, headers, signal, redirect: 'manual', ...(body && { body, duplex: 'half' }) })

/** Starts a Worker through wrangler. Its harness can deploy another version of it. */
export async function startWithWrangler(folder: string, secrets?: Record<string, string>): Promise<DeployableServer> {
  const optionsWith = (changed: Record<string, string> = {}) => ({
    root,
    workers: [{ configPath: `${folder}/wrangler.toml`, secrets: { ...secrets, ...changed } }],
  })
  const harness = createTestHarness(optionsWith())
  const { url } = await harness.listen()
  return {
    url: new URL('/mcp', url),
    harness,
    reload: (changed) => harness.update(optionsWith(changed)),
    [Symbol.asyncDispose]: () => harness.close(),
  }
}

export const startEverything = () => startServer('test/support/everything')
