/**
 * The same small server, written for another library and for this one, answers the same. Small libraries are installed with
 * everything else; agents is large, and is installed in bench/ when it is first needed.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { VersionNegotiationMode } from '@modelcontextprotocol/client'
import type { Plugin } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Folder } from '../../bench/folder.ts'
import { install } from '../../bench/install.ts'
import { startWorkerd } from '../../bench/workerd.ts'
import { connect, everyRevision } from '../../worker/testing/index.ts'
import { startIssuer } from '../../worker/testing/node/index.ts'
import { isFull } from '../support/full.ts'
import { startServer } from '../support/server.ts'
import { doors, doorsOf } from './agents-handler/doors.ts'
import { conversation } from './conversation.ts'

type Pair = {
  readonly folder: string
  /** Of docs/migrating. */
  readonly page: string
  /** What the other one takes. */
  readonly packages: readonly string[]
  readonly objects?: readonly string[]
  /** What stands in its environment. */
  readonly bindings?: Readonly<Record<string, string>>
  /** Where both are served. Left out: at `/mcp`. */
  readonly paths?: readonly [string, ...string[]]
  /** Both let in one page and go by one name. */
  readonly hasDoors?: true
  /** The other one runs in Node, and both are guarded by an issuer. */
  readonly isInNode?: true
  /** What the client wants to speak. */
  readonly mode: VersionNegotiationMode
  /** What has come of that. */
  readonly revision: string
}

const legacy = { mode: 'legacy', revision: '2025-11-25' } as const
const newest = { mode: { pin: '2026-07-28' }, revision: '2026-07-28' } as const

const pairs: readonly Pair[] = [
  {
    folder: 'mcp-agent',
    page: 'mcp-agent.md',
    packages: ['agents', '@modelcontextprotocol/sdk'],
    objects: ['Desk'],
    bindings: { DESK: 'Bern' },
    paths: ['/mcp', '/sse'],
    ...legacy,
  },
  {
    folder: 'agents-handler',
    page: 'create-mcp-handler.md',
    packages: ['agents', '@modelcontextprotocol/server'],
    bindings: { STATE_KEY: 'A secret of at least thirty-two bytes' },
    paths: ['/desk'],
    hasDoors: true,
    ...newest,
  },
  { folder: 'sdk-1', page: 'sdk-1.md', packages: ['@modelcontextprotocol/sdk'], isInNode: true, ...legacy },
  { folder: 'sdk-2', page: 'sdk-2.md', packages: ['@modelcontextprotocol/server'], ...newest },
  { folder: 'mcp-lite', page: 'mcp-lite.md', packages: ['mcp-lite'], mode: 'legacy', revision: '2025-03-26' },
]

const root = resolve(import.meta.dirname, '../..')
const bench = join(root, 'bench')

const orders = [{ text: 'Ordered 3 of tea.' }, { text: 'Nothing was ordered.' }]

/** What `npm test` compares. "agents" takes a minute to install and to build. */
const compared = isFull ? pairs : pairs.filter(({ packages }) => !packages.includes('agents'))

beforeAll(() => (isFull ? install() : undefined), 300_000)

describe.each(compared)('$folder', (pair) => {
  const { folder, objects = [], bindings, paths = ['/mcp'], hasDoors, isInNode, mode, revision } = pair
  let issuer: Awaited<ReturnType<typeof startIssuer>>
  beforeAll(async () => {
    issuer = await startIssuer()
  })
  afterAll(() => issuer.close())
  const start = async (path = paths[0]) => {
    const server = await startServer(`test/migrating/${folder}`, { ISSUER: issuer.issuer })
    return { ...server, url: new URL(path, server.url) }
  }
  const tokenFor = async (url: URL) => (isInNode ? await issuer.tokenFor({ sub: 'ada' })(url.href) : 'ada')
  const converse = async (url: URL, as: VersionNegotiationMode) => conversation(url, as, await tokenFor(url))

  async function startBefore(place: string, path = paths[0]): Promise<{ url: URL } & Disposable> {
    const entry = join('test/migrating', folder, 'before.ts')
    if (!isInNode) {
      const worker = { entry: join('..', entry), objects, bindings, compatibilityFlags: [], plugins: [fromBench] }
      const process = await startWorkerd(worker, place)
      return { ...process, url: new URL(path, process.url) }
    }
    const { url, close } = await (await import(join(root, entry))).listen(issuer.issuer)
    return { url, [Symbol.dispose]: close }
  }

  type Conversation = Awaited<ReturnType<typeof converse>>
  function expectSameAnswers(told: Conversation, ours: Conversation): void {
    expect(told.revision).toBe(revision)
    expect(told.outcomes).not.toEqual({})
    // Where the other one stops at an older revision, this one speaks the client's.
    expect({ ...ours, revision }).toEqual(told)
  }

  const [firstPath, ...otherPaths] = paths
  test.each(otherPaths)('answers the same as before, at %s', async (path) => {
    // Nobody has been there yet, and left something.
    using place = new Folder()
    using before = await startBefore(place.path, path)
    await using after = await start(path)
    expectSameAnswers(await converse(before.url, mode), await converse(after.url, mode))
  })

  describe('the migrated server', () => {
    let place: Folder
    let before: Awaited<ReturnType<typeof startBefore>>
    let after: Awaited<ReturnType<typeof start>>
    /** The first conversations with servers that nobody has talked to yet. */
    let first: { told: Conversation; ours: Conversation }
    beforeAll(async () => {
      place = new Folder()
      before = await startBefore(place.path)
      after = await start()
      first = { told: await converse(before.url, mode), ours: await converse(after.url, mode) }
    })
    afterAll(async () => {
      await after?.[Symbol.asyncDispose]()
      before?.[Symbol.dispose]()
      place?.[Symbol.dispose]()
    })

    test(`answers the same as before, at ${firstPath}`, () => expectSameAnswers(first.told, first.ours))

    if (isInNode) {
      test('challenges requests without a token as before', async () => {
        const told = await challenged(before.url)
        expect(told).toEqual({ status: 401, resource: '/mcp', authorizationServers: [issuer.issuer] })
        expect(await challenged(after.url)).toEqual(told)
      })
    }

    if (hasDoors) {
      test('allows the same origins and hosts as before', async () => {
        expect(await doorsOf(before.url)).toEqual(doors)
        expect(await doorsOf(after.url)).toEqual(doors)
      })
    }

    test('serves clients of the newest protocol version as well', async () => {
      const { outcomes } = await converse(after.url, { pin: '2026-07-28' })
      expect(outcomes.add).toEqual([{ text: '3', structured: undefined, failed: false, told: [] }])
      expect(outcomes.order ?? orders).toMatchObject(orders)
    })

    test('serves clients of every revision, and those of 2024-11-05 also at /sse', async () => {
      const token = await tokenFor(after.url)
      for (const as of [...everyRevision.map((revision) => ({ revision })), { revision: '2024-11-05', sse: true }]) {
        await using client = await connect(after.url, { ...as, token })
        expect((await client.callTool('add', { a: 1, b: 2 })).content).toEqual([{ type: 'text', text: '3' }])
      }
    })

    if (mode === 'legacy') {
      test('returns 404 for sessions of the old server, so clients start new ones', async () => {
        await using moved = await connect(before.url, { revision, token: await tokenFor(before.url) })
        expect(moved.session).toBeDefined()
        const token = await tokenFor(after.url)
        const { status } = await fetch(after.url, {
          method: 'POST',
          headers: {
            'Mcp-Session-Id': String(moved.session),
            'Content-Type': 'application/json',
            Accept: 'application/json, text/event-stream',
            Authorization: `Bearer ${token}`,
          },
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
        })
        expect(status).toBe(404)
        await using anew = await connect(after.url, { revision, token })
        expect(anew.session).not.toBe(moved.session)
        expect((await anew.callTool('add', { a: 1, b: 2 })).content).toEqual([{ type: 'text', text: '3' }])
      })
    } else {
      test('gives older clients sessions, streams and input requests that they lacked', async () => {
        const nothing = { sessions: false, streams: false, questions: false }
        expect(await offered(before.url, await tokenFor(before.url))).toEqual(nothing)
        const all = { sessions: true, streams: true, questions: true }
        expect(await offered(after.url, await tokenFor(after.url))).toEqual(all)
      })
    }
  })
})

test.runIf(isFull)('the servers of other libraries compile', () => {
  const { status, stdout } = spawnSync('npm', ['run', '-s', 'check', '--prefix', bench], {
    cwd: root,
    encoding: 'utf8',
  })
  expect(stdout).toBe('')
  expect(status).toBe(0)
})

test('the pages of docs/migrating name the compared versions', () => {
  const { dependencies } = JSON.parse(readFileSync(join(bench, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  const textOf = (page: string) => readFileSync(join(root, 'docs/migrating', page), 'utf8').replaceAll('\n', ' ')
  const unnamed = pairs.flatMap(({ page, packages }) =>
    ['index.md', page].flatMap((path) =>
      packages.filter((name) => !textOf(path).includes(`${name} ${dependencies[name]}`)).map((name) => [path, name]),
    ),
  )
  expect(unnamed).toEqual([])
})

/** What a server has for a client that knows sessions. */
async function offered(url: URL, token: string) {
  const elicit = () => ({ action: 'accept', content: { amount: 3 } })
  await using client = await connect(url, { revision: '2025-11-25', token, answers: { elicit } })
  const { isError } = await client.callTool('order', { item: 'tea' })
  const stream = await client.subscribe({}).catch(() => undefined)
  await stream?.close()
  return { sessions: client.session !== undefined, streams: stream !== undefined, questions: !isError }
}

/** What leads a client that has no token to the issuer. */
async function challenged(url: URL) {
  const { status, headers } = await fetch(url, { method: 'POST' })
  const [, metadata = ''] = /resource_metadata="([^"]+)"/.exec(headers.get('WWW-Authenticate') ?? '') ?? []
  const { resource, authorization_servers } = (await (await fetch(metadata)).json()) as Record<string, unknown>
  const authorizationServers = (authorization_servers as string[]).map((server) => server.replace(/\/$/, ''))
  return { status, resource: new URL(String(resource)).pathname, authorizationServers }
}

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
