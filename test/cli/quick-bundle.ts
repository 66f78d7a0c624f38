/**
 * Bundles a project with the options of `wrangler deploy --dry-run`, in this process. To start wrangler for each project takes
 * a second of processor time; the slow suite, and what the command line does in `npm test`, start it.
 */
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import type { Bundle } from '../../cli/doctor/wrangler.ts'

/** @returns `undefined` for a project that does not build */
export async function quickBundle(folder: string, main: string): Promise<Bundle | undefined> {
  const result = await build({
    absWorkingDir: folder,
    entryPoints: [main],
    outdir: 'out',
    write: false,
    bundle: true,
    metafile: true,
    format: 'esm',
    target: 'es2024',
    conditions: ['workerd', 'worker', 'browser'],
    // No rule asks for the parts of these two, and to bundle them takes most of the time.
    external: ['cloudflare:*', 'node:*', 'edgemcp', 'edgemcp/*', 'zod'],
    define: { 'process.env.NODE_ENV': '"production"' },
    loader: { '.txt': 'text' },
    logLevel: 'silent',
  }).catch(() => undefined)
  const [output] = Object.values(result?.metafile.outputs ?? {})
  if (!result || !output) return undefined
  return {
    exports: output.exports,
    size: result.outputFiles.reduce((sum, { contents }) => sum + gzipSync(contents).byteLength, 0),
    inputs: Object.entries(output.inputs).map(([path, { bytesInOutput }]) => ({ path, bytes: bytesInOutput })),
  }
}
