/**
 * Replaces modules, so that servers and clients of tests support one more protocol version, which does not exist: a version is added in
 * `worker/protocol/revisions` only, so all else must work unchanged.
 */
import { basename, dirname, join, resolve } from 'node:path'
import type { Plugin as BundlerPlugin } from 'esbuild'
import type { Plugin as TestPlugin } from 'vitest/config'

const replaced = resolve(import.meta.dirname, '../../../worker/protocol/revisions')
const files = new Set(['supported.ts', '2026-07-28.ts'])

/** Whether this process runs the tests with the invented version. */
export const hasNextVersion = process.env.NEXT_VERSION === '1'

function replacementOf(path: string, importer: string): string | undefined {
  if (!path.startsWith('.') || !files.has(basename(path))) return undefined
  if (resolve(dirname(importer), dirname(path)) !== replaced) return undefined
  return join(import.meta.dirname, 'revisions', basename(path))
}

/** For bundles of Workers. */
export const inBundles: BundlerPlugin = {
  name: 'next-version',
  setup({ onResolve }) {
    onResolve({ filter: /\.ts$/ }, ({ path, importer }) => {
      const replacement = replacementOf(path, importer)
      return replacement === undefined ? undefined : { path: replacement }
    })
  },
}

/** For what tests import. */
export const inTests: TestPlugin = {
  name: 'next-version',
  enforce: 'pre',
  resolveId: (path, importer) => (importer === undefined ? undefined : replacementOf(path, importer)),
}
