/** Bundles Workers of tests once for all servers, processes and runs. */
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { build, type Loader, version } from 'esbuild'
import { hasNextVersion, inBundles } from './next-version/replace.ts'

const root = resolve(import.meta.dirname, '../..')

/** Runs share the bundles of Workers of the repository. A bundle whose inputs have changed is made again. */
const lasting = join(root, 'node_modules/.cache/edgemcp-bundles')
/** Processes of one run share those of projects that tests write elsewhere. */
const passing = join(tmpdir(), 'edgemcp-bundles')
/** They decide which files an import finds, and how they are bundled. */
const settings = ['package.json', 'package-lock.json', 'tsconfig.json', 'test/support/bundle.ts']

export type Source = Options & {
  /** Absolute path of the main module. */
  main: string
}

export type Options = {
  /** The value of `process.env.NODE_ENV`. */
  mode: string
  /** Names of the configuration that are replaced. */
  define: Record<string, string>
  /** How files with other extensions are imported. */
  loader: Record<string, Loader>
}

type SomeOptions = Pick<Options, 'mode'> & Partial<Options>

type Bundle = { code: string; inputs: readonly (readonly [path: string, version: string])[] }

/** Returns the text of one module, as wrangler bundles it for a deployment. */
export async function bundleOf({ main, ...options }: Source): Promise<string> {
  const known = current(fileOf(main, options))
  if (known) return known.code
  await bundleAll([main], options)
  return read(fileOf(main, options))?.code ?? ''
}

/** Is a Worker bundled as it is now? */
export const isBundled = (main: string, { mode, define = {}, loader = {} }: SomeOptions): boolean =>
  current(fileOf(main, { mode, define, loader })) !== undefined

/**
 * Bundles many Workers with one run of esbuild, which parses the modules that they share once.
 *
 * @param mains absolute paths of their main modules
 */
export async function bundleAll(
  mains: readonly string[],
  { mode, define = {}, loader = {} }: SomeOptions,
): Promise<void> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: mains.map((main, index) => ({ in: main, out: String(index) })),
    outdir: 'out',
    write: false,
    bundle: true,
    metafile: true,
    keepNames: true,
    // Each start of a runtime copies the text several times.
    minifyWhitespace: true,
    format: 'esm',
    target: 'es2024',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:*', 'node:*'],
    define: {
      'navigator.userAgent': '"Cloudflare-Workers"',
      'process.env.NODE_ENV': JSON.stringify(mode),
      'globalThis.process.env.NODE_ENV': JSON.stringify(mode),
      ...define,
    },
    loader: { '.txt': 'text', '.html': 'text', '.sql': 'text', ...loader },
    plugins: hasNextVersion ? [inBundles] : [],
    logLevel: 'silent',
  })
  const inputs = [...settings, ...Object.keys(metafile.inputs)].map((path) => {
    const absolute = resolve(root, path)
    return [absolute, versionOf(absolute)] as const
  })
  for (const folder of [lasting, passing]) mkdirSync(folder, { recursive: true })
  for (const [index, main] of mains.entries()) {
    const code = outputFiles.find(({ path }) => path === resolve(root, `out/${index}.js`))?.text ?? ''
    const file = fileOf(main, { mode, define, loader })
    // Another process may read it at the same time.
    writeFileSync(`${file}.${process.pid}`, JSON.stringify({ code, inputs } satisfies Bundle))
    renameSync(`${file}.${process.pid}`, file)
  }
}

function fileOf(main: string, { mode, define, loader }: Options): string {
  const key = JSON.stringify([version, root, main, mode, define, loader, hasNextVersion])
  const isOfRepository = main.startsWith(join(root, '/')) && !main.includes('/.wrangler/')
  return join(isOfRepository ? lasting : passing, createHash('sha256').update(key).digest('hex'))
}

/** Returns a bundle whose inputs have not changed. */
function current(file: string): Bundle | undefined {
  const known = read(file)
  return known?.inputs.every(([path, version]) => versionOf(path) === version) ? known : undefined
}

function read(file: string): Bundle | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Bundle
  } catch {
    return undefined
  }
}

function versionOf(path: string): string {
  const { mtimeMs = 0, size = 0 } = statSync(path, { throwIfNoEntry: false }) ?? {}
  return `${mtimeMs} ${size}`
}
