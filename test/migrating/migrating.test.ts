/**
 * The same small server, written for another library and for this one, answers the same. Small libraries are installed with
 * everything else; agents is large, and is installed in bench/ when it is first needed.
 */
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Client, StreamableHTTPClientTransport, type VersionNegotiationMode } from '@modelcontextprotocol/client'
import type { Plugin } from 'esbuild'
import { beforeAll, describe, expect, test } from 'vitest'
import { Folder } from '../../bench/folder.ts'
import { install } from '../../bench/install.ts'
import { startWorkerd } from '../../bench/workerd.ts'
import { startServer } from '../support/server.ts'

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
    expect(told.calls).not.toEqual({})
    const ours = await conversation(after.url, mode)
    // Where the other one stops at an older revision, this one speaks the client's.
    expect({ ...ours, revision }).toEqual(told)
  })

  test('serves, also clients of the newest revision', async () => {
    await using server = await startServer(`test/migrating/${folder}`)
    const { calls } = await conversation(server.url, { pin: '2026-07-28' })
    expect(calls.add).toEqual({ text: '3', structured: undefined, failed: false })
    if (calls.ordered)
      expect([calls.ordered.text, calls.declined?.text]).toEqual(['Ordered 3 of tea.', 'Nothing was ordered.'])
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

type Outcome = { text: string; structured: unknown; failed: boolean }

/** Everything a client gets to know of a desk, without what libraries word in their own way. */
async function conversation(url: URL, mode: VersionNegotiationMode) {
  const client = new Client(
    { name: 'mover', version: '1.0.0' },
    { capabilities: { elicitation: {} }, versionNegotiation: { mode } },
  )
  const questions: string[] = []
  const answers = [{ action: 'accept', content: { amount: 3 } } as const, { action: 'decline' } as const]
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    questions.push(params.message)
    return answers[questions.length - 1] ?? { action: 'cancel' }
  })
  await client.connect(
    new StreamableHTTPClientTransport(url, { requestInit: { headers: { Authorization: 'Bearer ada' } } }),
  )
  try {
    const { tools } = await client.listTools()
    const { resources } = await client.listResources()
    const { resourceTemplates } = await client.listResourceTemplates()
    const { prompts } = await client.listPrompts()
    const has = (name: string) => tools.some((tool) => tool.name === name)
    const call = async (name: string, args?: Record<string, unknown>): Promise<Outcome | undefined> => {
      if (!has(name)) return undefined
      const { content, structuredContent, isError } = await client.callTool({ name, arguments: args })
      const text = content.map((block) => (block.type === 'text' ? block.text : block.type)).join()
      return { text, structured: structuredContent, failed: isError === true }
    }
    const read = async (uri: string) => {
      const { contents } = await client.readResource({ uri })
      return contents.map((content) => ({ uri: content.uri, text: 'text' in content && content.text }))
    }
    const completing = { type: 'ref/resource', uri: 'desk://notes/{id}' } as const
    return {
      revision: client.getNegotiatedProtocolVersion(),
      server: client.getServerVersion()?.name,
      tools: tools.map(({ name, description, inputSchema: { properties = {}, required = [] } }) => {
        return { name, description, properties, required }
      }),
      resources: resources.map(({ name, uri, description }) => ({ name, uri, description })),
      templates: resourceTemplates.map(({ name, uriTemplate }) => ({ name, uriTemplate })),
      prompts: prompts.map(({ name, description, arguments: list }) => ({ name, description, list })),
      calls: {
        add: await call('add', { a: 1, b: 2 }),
        wrong: (await call('add', { a: 'one', b: 2 }).catch(() => ({ failed: true })))?.failed,
        ordered: await call('order', { item: 'tea' }),
        declined: await call('order', { item: 'milk' }),
        counted: client.getProtocolEra() === 'legacy' && [await call('count'), await call('count')],
        whoami: await call('whoami'),
        convert: await call('convert', { celsius: 100 }),
        fail: await call('fail'),
      },
      questions,
      readme: await read('desk://readme'),
      note: await read('desk://notes/7'),
      nowhere: await read('desk://nowhere').catch(() => 'refused'),
      prompt: (await client.getPrompt({ name: 'review', arguments: { topic: 'this' } })).messages,
      completed: has('convert')
        ? (await client.complete({ ref: completing, argument: { name: 'id', value: '1' } })).completion.values
        : undefined,
    }
  } finally {
    await client.close()
  }
}
