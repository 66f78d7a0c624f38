import { resolve } from 'node:path'
import { build } from 'esbuild'
import { expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '../..')

const production = { 'globalThis.process.env.NODE_ENV': '"production"' }

/** The files that a Worker bundles. @param define what the bundler replaces. Default: as for a deployment */
async function filesOf(source: string, define: Record<string, string> = production): Promise<string[]> {
  const { metafile } = await build({
    stdin: { contents: source, resolveDir: root, loader: 'ts' },
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'esm',
    define,
    external: ['cloudflare:*', 'node:*'],
    absWorkingDir: root,
  })
  const [output] = Object.values(metafile.outputs)
  return Object.entries(output?.inputs ?? {})
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .map(([path]) => path)
}

const server = "export * from './worker/index.ts'"
const sessions = ['durable-objects/session/object.ts', 'worker/plugins/sessions/transport.ts']
const subscriptions = ['durable-objects/subscriptions/session-part.ts', 'worker/engine/topics.ts']
const documentCache = 'worker/plugins/auth/data-center-cache.ts'

test('a server bundles sessions, subscriptions and the document cache only with the entry points that need them', async () => {
  const files = await filesOf(server)
  expect(files.filter((path) => [...sessions, ...subscriptions, documentCache].includes(path))).toEqual([])
  expect(await filesOf(`${server};export * from './worker/plugins/sessions/index.ts'`)).toEqual(
    expect.arrayContaining(sessions),
  )
  expect(await filesOf(`${server};export * from './worker/plugins/subscriptions/index.ts'`)).toEqual(
    expect.arrayContaining(subscriptions),
  )
  expect(await filesOf(`${server};export * from './worker/plugins/auth/index.ts'`)).toContain(documentCache)
})

test('a bundler that does not know the environment bundles all checks', async () => {
  const checks = [
    'worker/declarations/check-uncalled.ts',
    'worker/declarations/other-libraries.ts',
    'worker/declarations/proposal.ts',
    'worker/engine/check-arguments.ts',
  ]
  const bundled = async (define?: Record<string, string>) =>
    (await filesOf(server, define)).filter((path) => checks.includes(path)).sort()
  expect(await bundled({})).toEqual(checks)
  expect(await bundled()).toEqual([])
})
