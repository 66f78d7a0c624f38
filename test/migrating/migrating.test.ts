/**
 * The same small server, written for another library and for this one, answers the same. Small libraries are installed with
 * everything else; agents is large, and is installed in bench/ when it is first needed.
 */
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { VersionNegotiationMode } from '@modelcontextprotocol/client'
import type { Plugin } from 'esbuild'
import { beforeAll, describe, expect, test } from 'vitest'
import { Folder } from '../../bench/folder.ts'
import { install } from '../../bench/install.ts'
import { startWorkerd } from '../../bench/workerd.ts'
import { startServer } from '../support/server.ts'
import { conversation } from './conversation.ts'

type Pair = {
  readonly folder: string
  /** What the other one takes. */
  readonly packages: readonly string[]
  readonly objects?: readonly string[]
  /** What the client wants to speak. */
  readonly mode: VersionNegotiationMode
  /** What has come of that. */
  readonly revision: string
}

const legacy = { mode: 'legacy', revision: '2025-11-25' } as const
const newest = { mode: { pin: '2026-07-28' }, revision: '2026-07-28' } as const

const pairs: readonly Pair[] = [
  { folder: 'mcp-agent', packages: ['agents', '@modelcontextprotocol/sdk'], objects: ['Desk'], ...legacy },
  { folder: 'agents-handler', packages: ['agents', '@modelcontextprotocol/server'], ...newest },
  { folder: 'sdk-1', packages: ['@modelcontextprotocol/sdk'], ...legacy },
  { folder: 'sdk-2', packages: ['@modelcontextprotocol/server'], ...newest },
  { folder: 'mcp-lite', packages: ['mcp-lite'], mode: 'legacy', revision: '2025-03-26' },
]

const root = resolve(import.meta.dirname, '../..')
const bench = join(root, 'bench')

const orders = [{ text: 'Ordered 3 of tea.' }, { text: 'Nothing was ordered.' }]

beforeAll(install, 300_000)

describe.each(pairs)('$folder', ({ folder, objects = [], mode, revision }) => {
  test('answers the same before and after', async () => {
    using place = new Folder()
    const entry = join('..', 'test/migrating', folder, 'before.ts')
    const worker = { entry, objects, compatibilityFlags: [], plugins: [fromBench] }
    using before = await startWorkerd(worker, place.path)
    await using after = await startServer(`test/migrating/${folder}`)
    const told = await conversation(before.url, mode)
    expect(told.revision).toBe(revision)
    expect(told.outcomes).not.toEqual({})
    const ours = await conversation(after.url, mode)
    // Where the other one stops at an older revision, this one speaks the client's.
    expect({ ...ours, revision }).toEqual(told)
  })

  test('serves, also clients of the newest revision', async () => {
    await using server = await startServer(`test/migrating/${folder}`)
    const { outcomes } = await conversation(server.url, { pin: '2026-07-28' })
    expect(outcomes.add).toEqual([{ text: '3', structured: undefined, failed: false, told: [] }])
    expect(outcomes.order ?? orders).toMatchObject(orders)
  })
})

test('docs/migrating.md names the versions that are compared', () => {
  const { dependencies } = JSON.parse(readFileSync(join(bench, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  const page = readFileSync(join(root, 'docs/migrating.md'), 'utf8').replaceAll('\n', ' ')
  const names = [...new Set(pairs.flatMap(({ packages }) => packages))]
  expect(names.filter((name) => !page.includes(`${name} ${dependencies[name]}`))).toEqual([])
})

/** Packages are looked for in bench/ first, and in the root when they are not there. */
const fromBench: Plugin = {
  name: 'from-bench',
  setup({ onResolve, resolve: find }) {
    onResolve({ filter: /^[@a-z]/ }, ({ path, importer, kind }) => {
      if (!importer.startsWith(import.meta.dirname) || /^(cloudflare|node):/.test(path)) return undefined
      return find(path, { resolveDir: bench, kind })
    })
  },
}
