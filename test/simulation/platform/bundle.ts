/** Bundles a Worker, and evaluates it for each isolate with the simulated globals. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import vm from 'node:vm'
import { build, type Plugin } from 'esbuild'
import { type Globals, globalNames } from './globals.ts'

const root = resolve(import.meta.dirname, '../../..')
const require = createRequire(import.meta.url)

/** Modules without state that all isolates have in common: their evaluation takes longer than that of the Worker. */
const shared = ['zod']

/** Returns the exports of a Worker. @param modules those of the platform, such as `cloudflare:workers` */
export type Load = (modules: Readonly<Record<string, unknown>>, globals: Globals) => WorkerExports

export type WorkerExports = Readonly<Record<string, unknown>> & {
  readonly default: { fetch(request: Request, env: object, ctx: object): Promise<Response> }
}

/** Replaces a text of a source file that occurs there once: a planted defect. */
export type Replacement = { readonly file: string; readonly search: string; readonly replacement: string }

export type Bundle = {
  readonly load: Load
  /** For coverage: the text, its name, and the characters in front of it. */
  readonly code: string
  readonly file: string
  readonly prefixLength: number
}

/**
 * @param source the folder of the edgemcp that the Worker uses. Default: this one
 * @throws Error for a replacement that is not found exactly once
 */
export async function bundleWorker(
  main: string,
  replacements: readonly Replacement[] = [],
  source = root,
): Promise<Bundle> {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [join(root, main)],
    bundle: true,
    write: false,
    format: 'cjs',
    platform: 'neutral',
    target: 'es2024',
    mainFields: ['module', 'main'],
    conditions: ['workerd', 'worker', 'import'],
    external: ['cloudflare:*', 'node:*', ...shared],
    alias: entryPointsOf(source),
    // For coverage, which planted defects have none of.
    sourcemap: replacements.length === 0 && 'inline',
    define: { 'process.env.NODE_ENV': '"production"' },
    logLevel: 'error',
    // Another source may have none of its own.
    nodePaths: [join(root, 'node_modules')],
    plugins: replacements.map(replacing),
  })
  const code = String(outputFiles[0]?.text)
  const file = join(root, `${main}.bundle.js`)
  const prefix = `(function (require, module, exports, ${globalNames.join(', ')}) {`
  const evaluate = new vm.Script(`${prefix}${code}\n})`, { filename: file }).runInThisContext()
  const known: Readonly<Record<string, unknown>> = Object.fromEntries(shared.map((name) => [name, require(name)]))
  const load: Load = (modules, globals) => {
    const module = { exports: {} }
    const find = (name: string) => modules[name] ?? known[name] ?? require(name)
    evaluate(find, module, module.exports, ...globalNames.map((name) => globals[name]))
    return module.exports as WorkerExports
  }
  return { load, code, file, prefixLength: prefix.length }
}

/** Returns the source file of each entry point of an edgemcp, by its name. @param source its folder */
export function entryPointsOf(source: string): Record<string, string> {
  const { exports } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8')) as {
    exports: Record<string, { default: string }>
  }
  const sourceOf = (built: string) => join(source, built.replace('./dist/', '').replace(/\.js$/, '.ts'))
  return Object.fromEntries(
    Object.entries(exports).map(([name, { default: built }]) => [join('edgemcp', name), sourceOf(built)]),
  )
}

export const replacing = ({ file, search, replacement }: Replacement): Plugin => ({
  name: `replacing in ${file}`,
  setup({ onLoad }) {
    onLoad({ filter: new RegExp(`/${RegExp.escape(file)}$`) }, ({ path }) => {
      const source = readFileSync(path, 'utf8')
      const count = source.split(search).length - 1
      if (count !== 1) throw new Error(`${file} has ${count} times what is to be replaced: ${search}`)
      return { contents: source.replace(search, () => replacement), loader: 'ts' }
    })
  },
})
