import { readdirSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { posix, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'

// The table. A room is a folder or a file; the longest name that fits a file is its room.

type Room = {
  /** Folders, files and packages it may import, besides itself. */
  may: readonly string[]
  /** What it may import with `import type` only. */
  types?: readonly string[]
  /** Globals it must not know. */
  ignores?: readonly string[]
}

const platform = ['Request', 'Response', 'Headers', 'fetch', 'WebSocket', 'caches', 'process', 'console']
const timers = ['setTimeout', 'setInterval', 'setImmediate', 'scheduler']
const clocks = ['Date', 'performance']
const chance = ['crypto', 'Math.random']
const outside = [...platform, ...timers, ...clocks, ...chance]
const everything = ['worker', 'durable-objects', 'examples', 'jose', 'yaml']
const anyPackage = 'any package'
const builtins = builtinModules.map((name) => `node:${name}`)

const options = ['worker/declarations/check-options.ts', 'worker/declarations/option-kinds.ts']

const rooms: Readonly<Record<string, Room>> = {
  'worker/protocol': { may: [], ignores: outside },
  'worker/declarations': { may: ['worker/protocol'], ignores: outside },
  // It asks whether it is a deployment, which bundlers answer.
  'worker/declarations/checking.ts': {
    may: ['worker/declarations', 'worker/protocol'],
    ignores: outside.filter((name) => name !== 'process'),
  },
  'worker/plugins/json-schema': { may: ['worker/protocol', 'worker/declarations/schema.ts'], ignores: outside },
  'worker/engine': { may: ['worker/declarations', 'worker/protocol'], ignores: outside },
  // What waits in memory, for those who run calls.
  'worker/engine/wait.ts': { may: [], ignores: outside.filter((name) => !timers.includes(name)) },
  'worker/sealing': { may: ['worker/protocol'] },
  'worker/plugins/auth': {
    may: [...options, 'worker/sealing', 'worker/protocol', 'jose'],
    types: ['worker/request-hooks.ts', 'worker/declarations'],
  },
  'worker/plugins/audit': {
    may: ['worker/engine', ...options, 'worker/protocol'],
    types: ['worker/request-hooks.ts', 'worker/plugin.ts', 'worker/declarations'],
  },
  'worker/request-hooks.ts': { may: [], types: ['worker/declarations', 'worker/sealing', 'worker/protocol'] },
  'worker/plugin.ts': {
    may: ['worker/engine', ...options],
    types: ['worker/request-hooks.ts', 'worker/protocol', 'worker/declarations'],
  },
  'worker/http': {
    may: ['worker/engine', ...options, 'worker/sealing', 'worker/protocol'],
    types: ['worker/request-hooks.ts', 'worker/plugin.ts', 'worker/declarations', 'durable-objects/rpc.ts'],
  },
  'worker/plugins/page': {
    may: ['worker/engine', 'worker/protocol'],
    types: ['worker/request-hooks.ts', 'worker/plugin.ts', 'worker/declarations'],
  },
  'worker/plugins/inspector': {
    may: [...options, 'worker/plugins/page/html.ts', 'worker/plugins/page/source-hash.ts'],
    types: ['worker/request-hooks.ts', 'worker/plugin.ts'],
  },
  // A page: it knows the wire, as a client does.
  inspector: {
    may: [
      'worker/plugins/development/test-users.ts',
      'worker/protocol',
      'worker/declarations/uri-template.ts',
      'worker/testing',
      'eventsource-parser',
    ],
  },
  'worker/plugins/subscriptions': {
    may: [
      'worker/engine',
      ...options,
      'worker/protocol',
      'durable-objects/subscriptions/object.ts',
      'durable-objects/session/subscriptions.ts',
      'cloudflare:workers',
    ],
    types: ['worker/plugin.ts', 'worker/declarations', 'worker/serve.ts', 'durable-objects/rpc.ts'],
  },
  'worker/plugins/rate-limit': {
    may: ['worker/engine', ...options, 'worker/protocol', 'worker/plugins/state/declaration.ts', 'cloudflare:workers'],
    types: ['worker/request-hooks.ts', 'worker/plugin.ts', 'worker/declarations'],
  },
  'worker/plugins/tasks': {
    may: [
      'worker/engine',
      'worker/plugins/json-schema',
      ...options,
      'worker/protocol',
      'worker/declarations',
      'durable-objects/task/object.ts',
    ],
    types: ['worker/plugin.ts', 'durable-objects'],
  },
  'worker/plugins/compose': {
    may: [
      'worker/engine',
      ...options,
      'worker/protocol',
      'worker/declarations/checking.ts',
      'worker/declarations/uri-template.ts',
      'worker/testing/wire.ts',
      'cloudflare:workers',
    ],
    types: ['worker/declarations', 'worker/serve.ts'],
  },
  'worker/plugins/openapi': { may: [...options, 'worker/protocol'], types: ['worker/declarations'] },
  'worker/plugins/observe': {
    may: ['worker/plugins/audit', 'worker/engine/methods/index.ts', ...options, 'worker/protocol'],
    types: ['worker/request-hooks.ts', 'worker/plugin.ts', 'worker/declarations', 'worker/serve.ts'],
  },
  'worker/plugins/extensions': {
    may: [...options],
    types: ['worker/engine', 'worker/protocol', 'worker/declarations'],
  },
  'worker/plugins/apps': {
    may: ['worker/plugins/extensions', ...options],
    types: ['worker/protocol', 'worker/declarations'],
  },
  'worker/plugins/skills': {
    may: ['worker/plugins/extensions', ...options, 'worker/protocol', 'yaml'],
    types: ['worker/declarations'],
  },
  'worker/plugins/sampling': { may: ['worker/declarations', 'worker/protocol'], ignores: outside },
  'worker/plugins/state': { may: [...options, 'worker/protocol'], types: ['worker/declarations'] },
  'worker/plugins/state/index.ts': {
    may: ['worker/plugins/state', 'durable-objects/state.ts'],
    types: ['worker/declarations'],
  },
  'durable-objects': {
    may: [
      'worker/plugins/state/declaration.ts',
      'worker/engine',
      'worker/protocol',
      'worker/sealing/seal.ts',
      'cloudflare:workers',
    ],
    types: ['worker/declarations'],
  },
  'worker/plugins/development': {
    may: [
      'worker/engine/input-promise.ts',
      'worker/plugins/inspector',
      'worker/platform.ts',
      'worker/protocol',
      'worker/plugins/state/declaration.ts',
    ],
    types: ['worker/request-hooks.ts', 'worker/engine', 'worker/plugin.ts', 'worker/serve.ts', 'worker/declarations'],
  },
  // A client: it knows the wire and nothing of how it is served.
  'worker/testing': { may: ['worker/protocol', 'eventsource-parser', 'jose'] },
  // But for what a test does to a server, besides asking it.
  'worker/testing/objects.ts': { may: ['worker/sealing/seal.ts', 'worker/sealing/base64url.ts', 'worker/testing'] },
  'worker/testing/node': {
    may: ['worker/testing', 'worker/sealing/seal.ts', 'wrangler', 'node:http', 'node:net', 'node:path'],
  },
  'worker/testing/timed': { may: ['worker/testing/clock.ts', 'cloudflare:workers'] },
  'worker/testing/workers': {
    may: ['worker/testing', 'worker/sealing/seal.ts', 'cloudflare:test', 'cloudflare:workers'],
  },
  'worker/platform.ts': {
    may: [
      'worker/sealing/seal.ts',
      'worker/plugins/development/objects.ts',
      'worker/protocol',
      'durable-objects/placement.ts',
      'cloudflare:workers',
    ],
  },
  'worker/serve-options.ts': { may: ['worker/http', ...options], types: ['worker/serve.ts', 'durable-objects'] },
  'worker/serve.ts': { may: [...everything, 'itty-router', 'cloudflare:workers'] },
  'worker/index.ts': { may: everything },
  'worker/main.ts': { may: everything },
  // Runs in Node, on the machine of whoever develops: it knows a server by what its bundle says, not by its code.
  cli: { may: [...builtins, 'worker/sealing/key-ring.ts', 'worker/protocol/loopback.ts'] },
  // It does for a Worker what that would do itself when it starts.
  'cli/openapi': {
    may: [...builtins, 'yaml', 'cli/cli-error.ts', 'worker/plugins/openapi/parse-openapi.ts'],
    types: ['worker/plugins/openapi'],
  },
  'cli/init/templates': { may: [anyPackage] },
  // What a user of the package could write: the package by its name, others, and their own folder.
  'examples/*': { may: [anyPackage] },
}

/** Only the first knows when a revision was published; what runs nowhere in a server has dates of the platform; the last is written of others. */
const mayHaveDates = [
  'worker/protocol/',
  'examples/',
  'cli/',
  'worker/plugins/inspector/assets.ts',
  'worker/plugins/development/old-date.ts',
]

// Reading a source: enough of a lexer to tell code from comments, texts and regular expressions.

type Import = { from: string; typeOnly: boolean }
type Source = { imports: Import[]; names: Set<string>; texts: string[] }

type Token = { kind: 'name' | 'text' | 'mark'; value: string }

const token =
  /(?<space>\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)|(?<name>[\p{ID_Start}$_#][\p{ID_Continue}$]*)|(?<number>\d[\w.]*)|(?<text>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")|(?<regex>\/(?![*/])(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/\w*)|(?<mark>[\s\S])/uy

/** After these a slash divides; everywhere else it starts a regular expression. */
const endsValue = (last: Token | undefined) =>
  last !== undefined &&
  (last.kind === 'text' ||
    (last.kind === 'name' && !/^(?:return|typeof|case|in|of|await|void|delete)$/.test(last.value)) ||
    /^[)\]}\d]/.test(last.value))

function tokens(code: string): Token[] {
  const found: Token[] = []
  // One entry per open brace; those of a template's `${` return to its text.
  const braces: boolean[] = []
  let at = 0
  const template = () => {
    const start = at
    while (at < code.length && code[at] !== '`' && !code.startsWith('${', at)) at += code[at] === '\\' ? 2 : 1
    found.push({ kind: 'text', value: code.slice(start, at) })
    if (code[at] === '`') at += 1
    else {
      at += 2
      braces.push(true)
    }
  }
  while (at < code.length) {
    token.lastIndex = at
    const { 0: all, groups = {} } = token.exec(code) as RegExpExecArray
    if (groups.regex && endsValue(found.at(-1))) {
      found.push({ kind: 'mark', value: '/' })
      at += 1
      continue
    }
    at += all.length
    if (groups.name) found.push({ kind: 'name', value: all })
    else if (groups.text) found.push({ kind: 'text', value: all.slice(1, -1) })
    else if (groups.regex) found.push({ kind: 'text', value: all })
    else if (groups.number) found.push({ kind: 'mark', value: all })
    else if (groups.mark === '`') template()
    else if (groups.mark === '}' && braces.pop()) template()
    else if (groups.mark) {
      if (all === '{') braces.push(false)
      found.push({ kind: 'mark', value: all })
    }
  }
  return found
}

function read(code: string): Source {
  const source: Source = { imports: [], names: new Set(), texts: [] }
  const list = tokens(code)
  list.forEach((here, index) => {
    const before = list[index - 1]
    const after = list[index + 1]
    if (here.kind === 'text') {
      source.texts.push(here.value)
      if (before?.value === 'from') source.imports.push({ from: here.value, typeOnly: typeOnly(list, index - 1) })
      if (before?.value === 'import') source.imports.push({ from: here.value, typeOnly: false })
      const dynamic = before?.value === '(' && /^(?:import|require)$/.test(list[index - 2]?.value ?? '')
      if (dynamic) source.imports.push({ from: here.value, typeOnly: false })
    }
    if (here.kind === 'name' && before?.value !== '.') {
      source.names.add(here.value)
      const member = list[index + 2]
      if (after?.value === '.' && member) source.names.add(`${here.value}.${member.value}`)
    }
    // What is not written out could be anything.
    if (here.value === 'import' && before?.value !== '.' && after?.value === '(' && list[index + 2]?.kind !== 'text') {
      source.imports.push({ from: '?', typeOnly: false })
    }
  })
  return source
}

/**
 * Does the declaration that has its `from` here vanish when types are stripped? One with a `type` before each name does
 * not: an empty import stays behind.
 */
function typeOnly(list: Token[], from: number): boolean {
  let at = from
  while (at > 0 && !(list[at]?.kind === 'name' && /^(?:import|export)$/.test(list[at]?.value ?? ''))) at -= 1
  const [first, second] = [list[at + 1], list[at + 2]]
  // `import type from './a.ts'` imports a default named type.
  return first?.value === 'type' && second?.value !== 'from' && second?.value !== ','
}

// The rules.

type Sources = Readonly<Record<string, string>>

function roomOf(path: string): string | undefined {
  const example = /^examples\/[^/]+\//.exec(path)
  if (example) return 'examples/*'
  return Object.keys(rooms)
    .filter((room) => path === room || path.startsWith(`${room}/`))
    .sort((a, b) => b.length - a.length)[0]
}

/** The file or package that an import means. */
const target = (path: string, from: string): string =>
  from.startsWith('.') ? posix.normalize(posix.join(posix.dirname(path), from)) : packageOf(from)

const packageOf = (from: string) =>
  from
    .split('/')
    .slice(0, from.startsWith('@') ? 2 : 1)
    .join('/')

const within = (wanted: string, places: readonly string[]) =>
  places.some((place) => wanted === place || wanted.startsWith(`${place}/`))

function problems(sources: Sources): string[] {
  const files = Object.entries(sources).map(([path, code]) => ({ path, ...read(code) }))
  return [...files.flatMap(importProblems), ...files.flatMap(nameProblems), ...files.flatMap(dateProblems), ...cycles()]

  function importProblems({ path, imports }: Source & { path: string }): string[] {
    const name = roomOf(path)
    const room = name && rooms[name]
    if (!room) return [`${path} is in no room`]
    return imports.flatMap(({ from, typeOnly }) => {
      const wanted = target(path, from)
      const own = name === 'examples/*' ? path.split('/').slice(0, 2).join('/') : name
      // What is no source is a text that is bundled.
      const isSource = wanted.endsWith('.ts')
      if (from.startsWith('.') && isSource && !(wanted in sources))
        return [`${path} imports ${wanted}, which is not there`]
      // Packages of files with a room of their own, such as worker/serve.ts, are theirs alone.
      if (within(wanted, [own, ...room.may])) return []
      if (room.may.includes(anyPackage) && !from.startsWith('.')) return []
      if (within(wanted, room.types ?? [])) return typeOnly ? [] : [`${path} imports ${wanted}: types only`]
      return [`${path} imports ${wanted}`]
    })
  }

  function nameProblems({ path, names }: Source & { path: string }): string[] {
    const ignored = rooms[roomOf(path) ?? '']?.ignores ?? []
    return ignored.filter((name) => names.has(name)).map((name) => `${path} knows ${name}`)
  }

  function dateProblems({ path, texts }: Source & { path: string }): string[] {
    if (mayHaveDates.some((place) => path.startsWith(place))) return []
    return texts.filter((text) => /\b20\d\d-\d\d-\d\d\b/.test(text)).map((text) => `${path} mentions ${text}`)
  }

  function cycles(): string[] {
    const next = new Map(
      files
        .filter(({ path }) => !path.startsWith('examples/'))
        .map(({ path, imports }) => [
          path,
          imports
            .filter((entry) => !entry.typeOnly && entry.from.startsWith('.'))
            .map(({ from }) => target(path, from)),
        ]),
    )
    const found: string[] = []
    const done = new Set<string>()
    const visit = (path: string, trail: readonly string[]) => {
      const at = trail.indexOf(path)
      if (at !== -1) found.push(`cycle: ${[...trail.slice(at), path].join(' → ')}`)
      if (at !== -1 || done.has(path)) return
      for (const other of next.get(path) ?? []) visit(other, [...trail, path])
      done.add(path)
    }
    for (const path of next.keys()) visit(path, [])
    return found
  }
}

// What is really there.

const root = resolve(import.meta.dirname, '..')

const sources: Sources = Object.fromEntries(
  ['worker', 'durable-objects', 'inspector', 'cli', 'examples'].flatMap((folder) =>
    readdirSync(resolve(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts') && !path.includes('node_modules') && !path.includes('.wrangler'))
      .map((path) => `${folder}/${path}`)
      .map((path) => [path, readFileSync(resolve(root, path), 'utf8')]),
  ),
)

test('every file keeps to its room', () => {
  expect(Object.keys(sources).length).toBeGreaterThan(50)
  expect(problems(sources)).toEqual([])
})

test('the table names nothing that has gone', () => {
  const { dependencies, devDependencies } = JSON.parse(readFileSync(resolve(root, 'package.json'), 'utf8'))
  const runtimes = ['cloudflare:workers', 'cloudflare:test', ...builtins]
  const packages = new Set([anyPackage, ...runtimes, ...Object.keys({ ...dependencies, ...devDependencies })])
  const places = Object.entries(rooms).flatMap(([room, { may, types = [] }]) => [room, ...may, ...types])
  const isThere = (place: string) =>
    packages.has(place) || Object.keys(sources).some((path) => within(path, [place.replace('/*', '')]))
  expect(places.filter((place) => !isThere(place))).toEqual([])
})

describe('the rules themselves', () => {
  const others = {
    'worker/protocol/a.ts': '',
    'worker/declarations/a.ts': '',
    'worker/engine/a.ts': '',
    'worker/plugins/auth/a.ts': '',
    'worker/sealing/seal.ts': '',
    'worker/http/a.ts': '',
    'worker/http/event-stream.ts': '',
    'worker/serve.ts': '',
    'worker/index.ts': '',
    'durable-objects/a.ts': '',
    'durable-objects/rpc.ts': '',
    'examples/one/a.ts': '',
    'examples/two/a.ts': '',
  }
  const problem = (path: string, code: string) => problems({ ...others, [path]: code })

  test.each<[string, string, string]>([
    ['worker/protocol/b.ts', `import { a } from '../declarations/a.ts'`, 'imports worker/declarations/a.ts'],
    ['worker/protocol/b.ts', `import type { A } from '../declarations/a.ts'`, 'imports worker/declarations/a.ts'],
    ['worker/protocol/b.ts', `import { SignJWT } from 'jose'`, 'imports jose'],
    ['worker/protocol/deep/b.ts', `import { a } from '../../engine/a.ts'`, 'imports worker/engine/a.ts'],
    ['worker/protocol/b.ts', `export { a } from '../http/a.ts'`, 'imports worker/http/a.ts'],
    ['worker/protocol/b.ts', `export * from '../http/a.ts'`, 'imports worker/http/a.ts'],
    ['worker/protocol/b.ts', `const a = await import('../http/a.ts')`, 'imports worker/http/a.ts'],
    ['worker/protocol/b.ts', 'const a = await import(`../http/a.ts`)', 'imports worker/http/a.ts'],
    ['worker/protocol/b.ts', `const a = (name: string) => import(name)`, 'imports ?'],
    ['worker/protocol/b.ts', `type A = import('../http/a.ts').A`, 'imports worker/http/a.ts'],
    ['worker/protocol/b.ts', `import '../http/a.ts'`, 'imports worker/http/a.ts'],
    ['worker/protocol/b.ts', `import {\n  a,\n  b,\n} from\n  '../http/a.ts'`, 'imports worker/http/a.ts'],
    ['worker/protocol/b.ts', `/* import */ import { a } from /* ! */ "../http/a.ts"`, 'imports worker/http/a.ts'],
    ['worker/protocol/b.ts', 'const later = () => setTimeout(() => {}, 1)', 'knows setTimeout'],
    ['worker/protocol/b.ts', 'const now = Date.now()', 'knows Date'],
    ['worker/protocol/b.ts', 'const a = Math.random()', 'knows Math.random'],
    ['worker/protocol/b.ts', 'const id = crypto.randomUUID()', 'knows crypto'],
    ['worker/protocol/b.ts', 'export const url = (request: Request) => request.url', 'knows Request'],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the template is the source under test
    ['worker/protocol/b.ts', 'const a = `${`${fetch(url)}`}`', 'knows fetch'],
    ['worker/protocol/b.ts', 'const a = 4 / 2 / Date.now()', 'knows Date'],
    ['worker/declarations/b.ts', `import { a } from '../engine/a.ts'`, 'imports worker/engine/a.ts'],
    ['worker/declarations/b.ts', `import * as z from 'zod'`, 'imports zod'],
    ['worker/engine/b.ts', `import type { A } from '../http/a.ts'`, 'imports worker/http/a.ts'],
    ['worker/engine/b.ts', `import { a } from '../plugins/auth/a.ts'`, 'imports worker/plugins/auth/a.ts'],
    ['worker/engine/b.ts', 'export const r = new Response()', 'knows Response'],
    ['worker/plugins/auth/b.ts', `import { a } from '../../engine/a.ts'`, 'imports worker/engine/a.ts'],
    ['worker/http/b.ts', `import { a } from '../declarations/a.ts'`, 'imports worker/declarations/a.ts: types only'],
    [
      'worker/http/b.ts',
      `import { type A } from '../declarations/a.ts'`,
      'imports worker/declarations/a.ts: types only',
    ],
    ['worker/http/b.ts', `import type from '../declarations/a.ts'`, 'imports worker/declarations/a.ts: types only'],
    ['worker/http/b.ts', `import { a } from '../../durable-objects/a.ts'`, 'imports durable-objects/a.ts'],
    [
      'worker/http/b.ts',
      `import { a } from '../../durable-objects/rpc.ts'`,
      'imports durable-objects/rpc.ts: types only',
    ],
    ['worker/http/b.ts', `import { a } from '../plugins/auth/a.ts'`, 'imports worker/plugins/auth/a.ts'],
    ['worker/http/b.ts', `import { env } from 'cloudflare:workers'`, 'imports cloudflare:workers'],
    ['worker/http/b.ts', `import { serve } from '../serve.ts'`, 'imports worker/serve.ts'],
    ['durable-objects/b.ts', `import { a } from '../worker/http/a.ts'`, 'imports worker/http/a.ts'],
    ['durable-objects/b.ts', `import { a } from '../worker/plugins/auth/a.ts'`, 'imports worker/plugins/auth/a.ts'],
    [
      'durable-objects/b.ts',
      `import { a } from '../worker/declarations/a.ts'`,
      'imports worker/declarations/a.ts: types only',
    ],
    ['worker/index.ts', `import { IttyRouter } from 'itty-router'`, 'imports itty-router'],
    ['worker/testing/b.ts', `import { a } from '../declarations/a.ts'`, 'imports worker/declarations/a.ts'],
    ['worker/main.ts', `import { env } from 'cloudflare:workers'`, 'imports cloudflare:workers'],
    ['cli/b.ts', `import { serve } from '../worker/serve.ts'`, 'imports worker/serve.ts'],
    ['examples/one/b.ts', `import { serve } from '../../worker/serve.ts'`, 'imports worker/serve.ts'],
    ['examples/one/b.ts', `import type { A } from '../../durable-objects/a.ts'`, 'imports durable-objects/a.ts'],
    ['examples/one/b.ts', `import { a } from '../two/a.ts'`, 'imports examples/two/a.ts'],
    ['worker/http/b.ts', `const old = revision < '2025-06-18'`, 'mentions 2025-06-18'],
    [
      'durable-objects/b.ts',
      'const url = `https://example.com/2025-06-18/x`',
      'mentions https://example.com/2025-06-18/x',
    ],
    ['worker/http/b.ts', `import { c } from './c.ts'`, 'imports worker/http/c.ts, which is not there'],
    ['worker/attic/b.ts', '', 'is in no room'],
  ])('%s may not say %s', (path, code, problemText) => {
    expect(problem(path, code)).toContain(`${path} ${problemText}`)
  })

  test.each<[string, string]>([
    ['worker/protocol/b.ts', `import { a } from './a.ts'`],
    ['worker/protocol/b.ts', `// import { a } from '../http/a.ts'\n/** fetch(Request) at Date.now() */`],
    ['worker/protocol/b.ts', `const text = "import { a } from '../http/a.ts'; fetch(Date.now())"`],
    ['worker/protocol/b.ts', 'const quote = /["\'`]/\nconst text = `fetch`'],
    ['worker/protocol/b.ts', 'export const a = (environment: CallEnvironment) => environment.fetch + revision.Date'],
    ['worker/protocol/b.ts', `export const date = '2025-06-18'`],
    ['worker/declarations/b.ts', `import { a } from '../protocol/a.ts'`],
    ['worker/declarations/b.ts', `import { a } from '../protocol/a.ts'`],
    ['worker/engine/b.ts', `import { a } from '../declarations/a.ts'\nimport type { B } from '../protocol/a.ts'`],
    ['worker/plugins/auth/b.ts', `import { SignJWT } from 'jose'\nimport { a } from '../../protocol/a.ts'`],
    [
      'worker/http/b.ts',
      `import type { A } from '../declarations/a.ts'\nexport type { B } from '../../durable-objects/rpc.ts'`,
    ],
    ['worker/http/b.ts', `import type A from '../declarations/a.ts'\nimport type * as B from '../declarations/a.ts'`],
    ['worker/http/b.ts', `/** @see https://modelcontextprotocol.io/specification/2025-11-25/basic */`],
    ['durable-objects/b.ts', `import { DurableObject } from 'cloudflare:workers'\nimport './a.ts'`],
    [
      'durable-objects/b.ts',
      `import { a } from '../worker/sealing/seal.ts'\nimport type { A } from '../worker/declarations/a.ts'`,
    ],
    ['worker/serve.ts', `import { IttyRouter } from 'itty-router'\nimport { env } from 'cloudflare:workers'`],
    ['worker/main.ts', `export { default } from '../examples/one/a.ts'`],
    ['cli/b.ts', `import { readFileSync } from 'node:fs'`],
    ['examples/one/b.ts', `import { serve } from 'edgemcp'\nimport { a } from './a.ts'\nimport * as z from 'zod'`],
  ])('%s may say %s', (path, code) => {
    expect(problem(path, code)).toEqual([])
  })

  test('files that import each other are a cycle, unless one wants types only', () => {
    const circle = (last: string) =>
      problems({
        'worker/http/a.ts': `import { b } from './b.ts'`,
        'worker/http/b.ts': `export * from './c.ts'`,
        'worker/http/c.ts': last,
      })
    expect(circle(`import { a } from './a.ts'`)).toEqual([
      'cycle: worker/http/a.ts → worker/http/b.ts → worker/http/c.ts → worker/http/a.ts',
    ])
    expect(circle(`import type { A } from './a.ts'`)).toEqual([])
  })
})
