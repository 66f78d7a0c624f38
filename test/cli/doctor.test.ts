import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { CliError } from '../../cli/cli-error.ts'
import { examine } from '../../cli/doctor/examine.ts'
import type { Finding } from '../../cli/doctor/finding.ts'
import { type Wrangler, wranglerOf } from '../../cli/doctor/wrangler.ts'
import { isFull, representatives, sample } from '../support/full.ts'
import { type Files, inJson, inToml, write } from './good-project.ts'
import { quickBundle } from './quick-bundle.ts'
import { quickRun } from './quick-run.ts'
import { runHere } from './run-here.ts'

const root = resolve(import.meta.dirname, '../..')

const main = 'src/index.ts'
const toml = 'wrangler.toml'

/** The good project with one text in the place of another. */
const planted = (files: Files, path: string, from: string | RegExp, to: string): Files => {
  const text = files[path] ?? ''
  const changed = text.replace(from, to)
  if (changed === text) throw new Error(`${path} has no ${from}`)
  return { ...files, [path]: changed }
}
const inMain = (from: string | RegExp, to: string) => planted(inToml, main, from, to)
const inConfig = (from: string | RegExp, to: string) => planted(inToml, toml, from, to)

/** With what comes at the end of a file. */
const added = (path: string, text: string): Files => ({ ...inToml, [path]: (inToml[path] ?? '') + text })

/** Calls `make` once for each key. */
function memoised<T>(): (key: string, make: () => Promise<T>) => Promise<T> {
  const made = new Map<string, Promise<T>>()
  return (key, make) => {
    const value = made.get(key) ?? make()
    made.set(key, value)
    return value
  }
}

/** A project with a fixed mistake is often one that was examined before, and an examination takes seconds. */
const findingsFor = memoised<Finding[]>()
const bundleFor = memoised<Awaited<ReturnType<Wrangler['bundle']>>>()
const runFor = memoised<Awaited<ReturnType<Wrangler['run']>>>()

/** @param isInWrangler whether to build and run the project with wrangler, and not in this process */
const examined = (files: Files, isInWrangler = false): Promise<Finding[]> =>
  findingsFor(JSON.stringify([isInWrangler, ...Object.entries(files).sort()]), async () => {
    using project = write(files)
    return await examine(project.folder, sharedBuilds(files, isInWrangler))
  })

/**
 * Builds and runs projects with the same sources once. Settings that change what is built or runs are part of the key. The slow
 * suite builds and runs with wrangler a mistake of each rule that reads what wrangler tells, and correct projects.
 */
const sharedBuilds =
  (files: Files, isInWrangler: boolean) =>
  (folder: string): Wrangler => {
    const wrangler = wranglerOf(folder)
    const entries = Object.entries(files).filter(([path]) => !path.startsWith('wrangler.'))
    // `.env` and `.dev.vars` change what runs, not what is bundled.
    const sources = entries.filter(([path]) => !path.startsWith('.'))
    const settings = (file: string) => {
      const { main, migrations, exports, compatibility_date: date } = wrangler.readConfig(file)
      return JSON.stringify([entries, main, migrations, exports, date])
    }
    return {
      readConfig: wrangler.readConfig,
      parseConfig: wrangler.parseConfig,
      bundle(file, date) {
        const { main = '', compatibility_flags: flags } = wrangler.readConfig(file)
        return bundleFor(
          JSON.stringify(isInWrangler ? [sources, main, date, flags] : [sources, main]),
          async () => (!isInWrangler && (await quickBundle(folder, main))) || (await wrangler.bundle(file, date)),
        )
      },
      run: (file, vars) =>
        isInWrangler
          ? wrangler.run(file, vars)
          : runFor(
              settings(file) + JSON.stringify(vars),
              async () => (await quickRun(folder, file, vars, wrangler)) ?? (await wrangler.run(file, vars)),
            ),
    }
  }

/** What the fix says, done. */
function mended(files: Files, { change, ...finding }: Finding): Files {
  if (!change) throw new Error('This fix is no edit')
  const { file = finding.file } = change
  const text = files[file] ?? ''
  if (change.from === undefined) return { ...files, [file]: text + change.to }
  expect(text).toContain(change.from)
  return { ...files, [file]: text.replace(change.from, () => change.to) }
}

type Mistake = {
  what: string
  files: Files
  /** What is on the line that is named; without it, none is. */
  found: [rule: string, level: 'error' | 'hint', file: string, line?: string]
  fix: string
  /** Rules of findings that follow. */
  others?: readonly string[]
  /** Are the fixes edits, after which nothing is wrong? */
  mends?: true
}

const sessions = 'export const { McpSession, McpSubscriptions, McpTask } = worker'
const classes = '["McpSession", "McpSubscriptions", "McpTask", "McpState"]'

/** No sessions, no Durable Objects, and a question, whose state is sealed. */
const keyless: Files = {
  [main]: `import { createServer, serve } from 'edgemcp'
import * as z from 'zod'
const server = createServer({ name: 'alone', version: '1.0.0' })
server.tool('greet', { description: 'Greets' }, async (_, ctx) => {
  const { content } = await ctx.elicit('name', 'Name?', z.object({ name: z.string() }))
  return 'Hello, ' + content?.name
})
export default serve(server, { origins: [] })
`,
  [toml]: inToml[toml]?.split('\n[[migrations')[0] ?? '',
}

/** No sessions, and an object for events, whose secrets are sealed. */
const eventful: Files = {
  [main]: `import { createServer, serve } from 'edgemcp'
import { bearer } from 'edgemcp/auth'
import { event, events } from 'edgemcp/events'
import * as z from 'zod'
const server = createServer({ name: 'eventful', version: '1.0.0' })
server.tool('greet', { description: 'Greets', scopes: [] }, () => 'Hello')
const saved = event('note.saved', { payloadSchema: z.object({ id: z.string() }) })
const auth = bearer({ issuer: 'https://auth.example.com' })
const worker = serve(server, { origins: [], auth, plugins: [events([saved])] })
export default worker
export const { McpEvents } = worker
`,
  [toml]:
    (inToml[toml] ?? '')
      .replace(/new_sqlite_classes = .*/, 'new_sqlite_classes = ["McpEvents"]')
      .split('\n[vars]')[0] ?? '',
}
const requiredKeys = '\n[secrets]\nrequired = ["EDGEMCP_KEYS"]\n'

/** A server with limits, and without the class of states. */
function counting({ limiter = '', tool = '', served = '' }): Files {
  return {
    [main]: `import { createServer, serve } from 'edgemcp'
import { rateLimit } from 'edgemcp/rate-limit'
import { sessions } from 'edgemcp/sessions'
const server = createServer({ name: 'counting', version: '1.0.0' })
server.tool('greet', { description: 'Greets'${tool} }, () => 'Hello')
const worker = serve(server, { origins: [], plugins: [sessions(), rateLimit({ ${limiter} })]${served} })
export default worker
export const { McpSession, McpSubscriptions } = worker
`,
    [toml]:
      (inToml[toml] ?? '')
        .replace(', "McpTask", "McpState"', served === '' ? ', "McpState"' : ', "Counters"')
        .split('\n[vars]')[0] ?? '',
  }
}

const mistakes: Mistake[] = [
  {
    what: 'no compatibility date',
    files: inConfig('compatibility_date = "2026-10-15"\n', ''),
    found: ['compatibility-date', 'error', 'wrangler.toml'],
    fix: 'Set the compatibility date to 2026-10-15',
  },
  {
    what: 'an old compatibility date',
    files: inConfig('2026-10-15', '2026-01-15'),
    found: ['compatibility-date', 'error', 'wrangler.toml', '2026-01-15'],
    fix: 'Set the compatibility date to 2026-10-15',
    mends: true,
  },
  {
    what: 'a compatibility date in the future',
    files: inConfig('2026-10-15', '2039-10-15'),
    found: ['compatibility-date', 'error', 'wrangler.toml', '2039-10-15'],
    fix: 'Set the compatibility date to 2026-10-15, or update wrangler.',
    mends: true,
  },
  {
    what: 'no flags',
    files: inConfig('compatibility_flags = ["enable_request_signal"]\n', ''),
    found: ['request-signal', 'error', 'wrangler.toml', 'compatibility_date'],
    fix: 'Add the flag.',
  },
  {
    what: 'other flags, in JSON',
    files: planted(inJson, 'wrangler.jsonc', 'enable_request_signal', 'global_fetch_strictly_public'),
    found: ['request-signal', 'error', 'wrangler.jsonc', 'compatibility_flags'],
    fix: 'Add the flag.',
    mends: true,
  },
  {
    what: 'sign-in without client id metadata documents',
    files: inMain('const server', "import type {} from 'edgemcp/sign-in'\nconst server"),
    found: ['client-metadata', 'hint', 'wrangler.toml', 'compatibility_flags'],
    fix: 'Add the flag.',
    mends: true,
  },
  {
    what: 'events whose callback URLs reach the own zone',
    files: inMain('const server', "import type {} from 'edgemcp/events'\nconst server"),
    found: ['callback-urls', 'error', 'wrangler.toml', 'compatibility_flags'],
    fix: 'Add the flag.',
    mends: true,
  },
  {
    what: 'a flag that is not needed',
    files: inConfig('"enable_request_signal"', '"enable_request_signal", "nodejs_compat"'),
    found: ['nodejs-compat', 'hint', 'wrangler.toml', 'compatibility_flags'],
    fix: 'Remove the flag.',
  },
  {
    what: 'a flag that is not needed, and one that is missing',
    files: inConfig('"enable_request_signal"', '"nodejs_compat_v2"'),
    found: ['request-signal', 'error', 'wrangler.toml', 'compatibility_flags'],
    others: ['nodejs-compat'],
    fix: 'Add the flag.',
    mends: true,
  },
  {
    what: 'a name that no host can have',
    files: planted(inConfig('name = "good"', 'name = "good_one"'), main, 'good.example', 'good-one.example'),
    found: ['name', 'hint', 'wrangler.toml', 'name = '],
    fix: 'Name it "good-one".',
  },
  {
    what: 'no address',
    files: inConfig('name = "good"\n', 'name = "good"\nworkers_dev = false\n'),
    found: ['unreachable', 'hint', 'wrangler.toml', 'workers_dev'],
    fix: 'Add a route',
  },
  {
    what: 'an environment without the variables',
    files: added(toml, '\n[env.staging]\nname = "good-staging"\n'),
    found: ['environment-vars', 'error', 'wrangler.toml', '[env.staging]'],
    fix: 'Add them to [env.staging.vars].',
    mends: true,
  },
  {
    what: 'keys in a plain variable',
    files: added(toml, 'EDGEMCP_KEYS = "a:MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI"\n'),
    found: ['secrets-in-vars', 'error', 'wrangler.toml', 'EDGEMCP_KEYS'],
    fix: 'npx wrangler secret put EDGEMCP_KEYS',
    mends: true,
  },
  {
    what: 'a secret in a plain variable',
    files: added(toml, 'MAIL_API_KEY = "abc"\n'),
    found: ['secrets-in-vars', 'hint', 'wrangler.toml', 'MAIL_API_KEY'],
    fix: 'npx wrangler secret put MAIL_API_KEY',
  },
  {
    what: 'a secret that is not declared',
    files: inMain('const server', 'export const key = () => (env as { MAIL_KEY: string }).MAIL_KEY\nconst server'),
    found: ['secret-undeclared', 'hint', 'src/index.ts', 'MAIL_KEY'],
    fix: 'npx wrangler secret put MAIL_KEY',
    mends: true,
  },
  {
    what: 'a secret that is on this machine only',
    files: {
      ...inMain(
        'const { ISSUER } = env as { ISSUER: string }',
        'const { ISSUER, MAIL_KEY } = env as Record<string, string>',
      ),
      '.dev.vars': 'MAIL_KEY=abc\n',
    },
    found: ['secret-undeclared', 'hint', 'src/index.ts', 'MAIL_KEY'],
    fix: 'list it in secrets.required of wrangler.toml',
  },
  {
    what: 'a binding that is not declared',
    files: planted(
      inMain(
        'const { ISSUER } = env as { ISSUER: string }',
        'const { ISSUER, DB } = env as { ISSUER: string; DB: D1Database }',
      ),
      main,
      "return 'written'",
      "return (await DB.prepare('SELECT 1').first()) ? 'written' : 'read'",
    ),
    found: ['binding-undeclared', 'hint', 'src/index.ts', 'DB'],
    fix: 'Declare it in wrangler.toml with the binding "DB".',
  },
  {
    what: 'questions of a server that has nowhere to keep its keys',
    files: keyless,
    found: ['missing-keys', 'error', 'src/index.ts', 'ctx.elicit('],
    fix: 'npx wrangler secret put EDGEMCP_KEYS',
    mends: true,
  },
  {
    what: 'keys that are on this machine only',
    files: { ...keyless, '.dev.vars': 'EDGEMCP_KEYS=a:MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI\n' },
    found: ['missing-keys', 'hint', 'src/index.ts', 'ctx.elicit('],
    fix: 'name it in secrets.required of wrangler.toml',
  },
  {
    what: 'events without keys',
    files: eventful,
    found: ['missing-keys', 'error', 'src/index.ts', 'events('],
    fix: 'npx wrangler secret put EDGEMCP_KEYS',
    mends: true,
  },
  {
    what: 'a class of events that is neither exported nor declared',
    files: {
      [main]: eventful[main]?.replace('export const { McpEvents } = worker\n', '') ?? '',
      [toml]: (inToml[toml]?.split('\n[[migrations')[0] ?? '') + requiredKeys,
    },
    found: ['class-not-exported', 'error', 'src/index.ts', 'const worker = serve('],
    fix: 'Add: export const { McpEvents } = worker',
    others: ['class-not-declared'],
    mends: true,
  },
  {
    what: 'a class that is not exported',
    files: inMain(sessions, 'export const { McpSubscriptions, McpTask } = worker'),
    found: ['class-not-exported', 'error', 'src/index.ts', 'const worker = serve('],
    fix: 'Add: export const { McpSession } = worker',
    mends: true,
  },
  {
    what: 'a class that is exported with a slip',
    files: inMain(sessions, 'export const { McpSession: McpSesion, McpSubscriptions, McpTask } = worker'),
    found: ['class-not-exported', 'error', 'src/index.ts', 'McpSesion'],
    fix: 'Write McpSession.',
    mends: true,
  },
  {
    what: 'tasks that are not exported',
    files: inMain('McpSubscriptions, McpTask }', 'McpSubscriptions }'),
    found: ['class-not-exported', 'error', 'src/index.ts', 'const worker = serve('],
    fix: 'Add: export const { McpTask } = worker',
    mends: true,
  },
  {
    what: 'state that is not exported',
    files: inMain("export { McpState } from 'edgemcp/state'\n", ''),
    found: ['class-not-exported', 'error', 'src/index.ts', "from 'edgemcp/state'"],
    fix: "Add: export { McpState } from 'edgemcp/state'",
  },
  {
    what: 'a class that no migration has',
    files: inConfig(', "McpState"', ''),
    found: ['class-not-declared', 'error', 'wrangler.toml', '[[migrations]]'],
    fix: 'in a new migration',
    mends: true,
  },
  {
    what: 'a class that no migration has, in JSON',
    files: planted(inJson, 'wrangler.jsonc', ', "McpTask"', ''),
    found: ['class-not-declared', 'error', 'wrangler.jsonc', '"migrations"'],
    fix: 'in a new migration',
    mends: true,
  },
  {
    what: 'a class without a migration',
    files: inMain(
      sessions,
      `${sessions}\nimport { DurableObject } from 'cloudflare:workers'\nexport class Notebook extends DurableObject {}`,
    ),
    found: ['class-not-declared', 'error', 'wrangler.toml', '[[migrations]]'],
    fix: 'in a new migration',
  },
  {
    what: 'a class that a migration has deleted',
    files: inConfig('\n[vars]', '\n[[migrations]]\ntag = "v2"\ndeleted_classes = ["McpTask"]\n\n[vars]'),
    found: ['class-not-declared', 'error', 'wrangler.toml', '[[migrations]]'],
    fix: 'in a new migration',
  },
  {
    what: 'a migration with a slip',
    files: inConfig('"McpSubscriptions"', '"McpSubscription"'),
    found: ['class-missing', 'error', 'wrangler.toml', 'new_sqlite_classes'],
    fix: 'Write McpSubscriptions',
  },
  {
    what: 'a migration with a class that is not there',
    files: inConfig('"McpState"', '"McpState", "MyMcpAgent"'),
    found: ['class-missing', 'error', 'wrangler.toml', 'new_sqlite_classes'],
    fix: 'deleted_classes = ["MyMcpAgent"]',
  },
  {
    what: 'classes without SQLite',
    files: inConfig(
      `new_sqlite_classes = ${classes}`,
      'new_classes = ["McpSession"]\nnew_sqlite_classes = ["McpSubscriptions", "McpTask", "McpState"]',
    ),
    found: ['class-without-sqlite', 'error', 'wrangler.toml', 'new_classes'],
    fix: 'Write new_sqlite_classes.',
  },
  {
    what: 'two migrations of one name',
    files: inConfig(
      '"McpTask", "McpState"]',
      '"McpTask"]\n\n[[migrations]]\ntag = "v1"\nnew_sqlite_classes = ["McpState"]',
    ),
    found: ['migration-twice', 'error', 'wrangler.toml', 'tag = "v1"'],
    fix: 'its own tag, such as "v2"',
  },
  {
    what: 'scopes without auth',
    files: inMain('  auth: bearer({ issuer: ISSUER }),\n', ''),
    found: ['scopes-without-auth', 'error', 'src/index.ts', 'server.tool('],
    fix: 'serve(server, { auth: bearer(',
  },
  {
    what: 'a tool without scopes',
    files: inMain("'Makes a basket', scopes: []", "'Makes a basket'"),
    found: ['unscoped', 'hint', 'src/index.ts', "'new_basket'"],
    fix: 'or scopes: [] if any token is enough',
  },
  {
    what: 'limits without rateLimit()',
    files: inMain(' rateLimit(),', ''),
    found: ['limit-without-limiter', 'error', 'src/index.ts', 'server.tool('],
    fix: 'serve(server, { plugins: [rateLimit()] })',
  },
  {
    what: 'a task without tasks',
    files: planted(planted(inMain(', tasks()]', ']'), 'src/index.ts', ', McpTask }', ' }'), toml, ', "McpTask"', ''),
    found: ['task-without-tasks', 'error', 'src/index.ts', "'long'"],
    fix: 'Add tasks() of edgemcp/tasks to the plugins of serve()',
  },
  {
    what: 'changes without subscriptions()',
    files: inMain('subscriptions(), ', ''),
    found: ['notify-without-subscriptions', 'error', 'src/index.ts', 'note.updated'],
    fix: 'serve(server, { plugins: [subscriptions()] })',
  },
  {
    what: 'a tool that can be disabled, and no updates',
    files: planted(
      planted(inMain('subscriptions(), ', ''), main, 'await note.updated({ id })', 'await note'),
      main,
      'scopes: [], task: true',
      'scopes: [], task: true, enabled: false',
    ),
    found: ['notify-without-subscriptions', 'error', 'src/index.ts', "'long'"],
    fix: 'serve(server, { plugins: [subscriptions()] })',
  },
  {
    what: 'no origins',
    files: inMain("  origins: ['https://app.example.com'],\n", ''),
    found: ['origins', 'hint', 'src/index.ts', 'serve(server'],
    fix: 'or write origins: []',
  },
  ...['http://app.localhost:6274', 'http://localhost:6274', 'http://127.0.0.2', 'https://[::1]:8443'].map(
    (origin): Mistake => ({
      what: `a local origin: ${origin}`,
      files: inMain("['https://app.example.com']", `['https://app.example.com', '${origin}']`),
      found: ['local-origin', 'hint', 'src/index.ts', origin],
      fix: 'Remove it',
    }),
  ),
  {
    what: 'a host of another name',
    files: inConfig('name = "good"', 'name = "better"'),
    found: ['hosts', 'error', 'src/index.ts', 'serve(server'],
    fix: 'Write better.example.workers.dev in the option hosts.',
  },
  {
    what: 'a route without the way to a token',
    files: planted(
      inConfig('name = "good"\n', 'name = "good"\nroutes = ["mcp.example.com/mcp*"]\n'),
      main,
      "hosts: ['good.example.workers.dev'],",
      '',
    ),
    found: ['route', 'error', 'wrangler.toml', 'routes'],
    fix: 'Add the route "mcp.example.com/.well-known/oauth-protected-resource/mcp*".',
  },
  {
    what: 'a page that a file hides',
    files: {
      ...planted(
        inMain('subscriptions(),', 'subscriptions(), page(),'),
        main,
        'import * as z',
        "import { page } from 'edgemcp/page'\nimport * as z",
      ),
      [toml]: `${inToml[toml]}\n[assets]\ndirectory = "public"\n`,
      'public/index.html': '<p>Hello',
    },
    found: ['page-hidden', 'hint', 'wrangler.toml', '[assets]'],
    fix: 'Remove the plugin page()',
  },
  {
    what: 'all of zod',
    files: inMain("import * as z from 'zod'", "import { z } from 'zod'"),
    found: ['zod-import', 'hint', 'src/index.ts', 'zod'],
    fix: "Write import * as z from 'zod'.",
  },
  {
    what: 'too much data',
    files: {
      ...inMain('const server', "import data from './data.txt'\nexport const bytes = () => data.length\nconst server"),
      'src/data.txt': noise(4.4e6),
    },
    found: ['bundle-size', 'hint', 'src/index.ts'],
    fix: 'store data in KV, R2 or assets',
  },
  {
    what: 'the SDK in the bundle',
    files: inMain(
      'const server',
      "import { McpError } from '@modelcontextprotocol/sdk/types.js'\nexport const failed = (thrown: unknown) => thrown instanceof McpError\nconst server",
    ),
    found: ['sdk-in-bundle', 'hint', 'src/index.ts', '@modelcontextprotocol/sdk'],
    fix: 'Import only types',
  },
  {
    what: 'an export that is not a handler',
    files: inMain('const server', 'export const version = 1\nconst server'),
    found: ['stray-export', 'error', 'src/index.ts', 'version'],
    fix: 'Do not export version from src/index.ts',
  },
  {
    what: 'a declaration that is refused',
    files: inMain("description: 'Takes its time', ", "description: '', "),
    found: ['does-not-start', 'error', 'src/index.ts', "'long'"],
    fix: 'Fix this error',
  },
  {
    what: 'a server that is made for each request',
    files: {
      ...inToml,
      [main]: `import { createServer, serve } from 'edgemcp'
export default {
  fetch: (request: Request, env: unknown, ctx: ExecutionContext) =>
    serve(createServer({ name: 'late', version: '1.0.0' })).fetch(request, env, ctx),
}
`,
      [toml]: inToml[toml]?.split('[[migrations')[0] ?? '',
    },
    found: ['serve-not-at-top-level', 'error', 'src/index.ts', 'serve('],
    fix: 'Write const worker = serve(server) at the top level',
  },
  {
    what: 'the server in place of the Worker as the default export',
    files: inMain('export default worker', 'export default server'),
    found: ['no-fetch-handler', 'error', 'src/index.ts', 'export default server'],
    fix: 'Write export default worker',
    mends: true,
  },
  {
    what: 'no default export',
    files: inMain('export default worker\n', ''),
    found: ['no-fetch-handler', 'error', 'src/index.ts', 'const worker = serve('],
    fix: 'Write export default worker',
    mends: true,
  },
  {
    what: 'the Worker in place of its fetch handler',
    files: inMain('export default worker', 'export default { fetch: worker }'),
    found: ['no-fetch-handler', 'error', 'src/index.ts', 'export default { fetch: worker }'],
    fix: 'Write export default worker',
    mends: true,
  },
  {
    what: 'a fetch handler that throws',
    files: inMain('export default worker', "export default { fetch: async () => { throw new Error('no database') } }"),
    found: ['requests-fail', 'error', 'src/index.ts', 'export default {'],
    fix: 'Fix this error',
  },
  {
    what: 'a plugin whose value for calls is wrong',
    files: inMain('tasks()]', "tasks(), { name: 'own', interceptor: () => null as never }]"),
    found: ['requests-fail', 'error', 'src/index.ts', 'export default worker'],
    fix: 'Fix this error',
  },
  {
    what: 'a server that is not served',
    files: {
      [main]: `import { createServer } from 'edgemcp'
const server = createServer({ name: 'unserved', version: '1.0.0' })
export default server
`,
      [toml]: inToml[toml]?.split('\n[[migrations')[0] ?? '',
    },
    found: ['no-fetch-handler', 'error', 'src/index.ts', 'export default server'],
    fix: 'serve(server)',
  },
  {
    what: 'no entry',
    files: inConfig('src/index.ts', 'src/main.ts'),
    found: ['does-not-build', 'error', 'wrangler.toml'],
    fix: 'Fix the error',
  },
  {
    what: 'invalid code',
    files: inMain('const worker = serve(', 'const worker = = serve('),
    found: ['does-not-build', 'error', 'src/index.ts', '= ='],
    fix: 'Fix the error',
  },
  {
    what: 'a package that is not installed',
    files: inMain('import ', "import '@example/missing/part'\nimport "),
    found: ['does-not-build', 'error', 'src/index.ts', '@example/missing'],
    fix: 'Run npm install @example/missing.',
  },
  {
    what: 'an invalid configuration',
    files: inConfig('main = "src/index.ts"', 'main = src/index.ts'),
    found: ['configuration', 'error', 'wrangler.toml', 'main'],
    fix: 'Fix the error',
  },
]

/** Text that gzip cannot make much smaller. */
function noise(length: number): string {
  let state = 1
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return String.fromCharCode(33 + ((state >>> 16) % 90))
  }
  return Array.from({ length }, next).join('')
}

describe('doctor finds a planted mistake with its fix, and nothing else:', () => {
  // Other rules read the configuration, and what a server prints at its start.
  const readFromWrangler = new Set(
    `bundle-size class-not-exported configuration does-not-build does-not-start environment-vars missing-keys no-fetch-handler
     nodejs-compat page-hidden requests-fail sdk-in-bundle secret-undeclared secrets-in-vars serve-not-at-top-level stray-export
     unscoped zod-import`.split(/\s+/),
  )
  const kinds = Map.groupBy(mistakes, ({ found: [rule] }) => rule)
  const isInWrangler = (mistake: Mistake) => {
    const [rule] = mistake.found
    return isFull && readFromWrangler.has(rule) && kinds.get(rule)?.[0] === mistake
  }

  test.each(
    sample(
      representatives(mistakes, ({ found: [rule] }) => rule),
      9,
    ),
  )(
    '$what',
    async (mistake) => {
      const { files, fix, others = [], mends } = mistake
      const [rule, level, file, line] = mistake.found
      const findings = await examined(files, isInWrangler(mistake))
      const [first] = findings
      expect(findings.map((finding) => finding.rule)).toEqual([rule, ...others])
      expect(first).toMatchObject({ level, file, fix: expect.stringContaining(fix) })
      const named = first?.line === undefined ? undefined : files[file]?.split('\n')[first.line - 1]
      expect(named).toEqual(line === undefined ? undefined : expect.stringContaining(line))
      if (mends) expect(await examined(findings.reduce(mended, files))).toEqual([])
    },
    60_000,
  )
})

describe('a project has no findings after all fixes are applied one after the other:', () => {
  const withoutMigrations = (text: string) =>
    text.replace(/\[\[migrations\]\]\ntag = .*\nnew_sqlite_classes = .*\n/, '')

  const projects: [string, Files][] = [
    ['no migrations', { ...inToml, [toml]: withoutMigrations(inToml[toml] ?? '') }],
    ['two classes that are not exported', inMain(sessions, '')],
    [
      'two secrets that are not declared',
      inMain(
        'const { ISSUER } = env as',
        'const { ISSUER, MAIL_KEY, MAP_KEY } = env as unknown as Record<string, string> &',
      ),
    ],
    [
      'two classes that no migration has, in JSON',
      planted(inJson, 'wrangler.jsonc', '"McpSession", "McpSubscriptions", ', ''),
    ],
  ]

  test.each(sample(projects, 4))('%s', async (_, files) => {
    const found = await examined(files)
    expect(found.filter(({ rule }) => /^class-not-|^secret-undeclared/.test(rule)).length).toBeGreaterThan(1)
    expect(await examined(found.reduce(applied, files))).toEqual([])
  })

  function applied(files: Files, { file, change }: Finding): Files {
    if (!change) return files
    const path = change.file ?? file
    const text = files[path] ?? ''
    return {
      ...files,
      [path]: change.from === undefined ? text + change.to : text.replace(change.from, () => change.to),
    }
  }
})

// Only wrangler runs bindings that need an account.
test.runIf(isFull)(
  'a project is correct with optional variables, names that a package adds to env and bindings that need an account',
  async () => {
    const uses = `import { handle } from '../vendor/node_modules/oauth/index.js'
type Bindings = { AI: { run(model: string): string }; OAUTH_PROVIDER: object; REGION?: string; [name: string]: unknown }
export function settings(env: Bindings) {
  if (env.DEBUG) console.log(env.DEBUG)
  const { THEME = 'dark', LOCALE: locale = 'en' } = env
  const mail = env.MAIL_HOST && env.MAIL_USER !== undefined ? env.MAIL_USER : !env.QUIET
  handle(env)
  return [env.GREETING ?? 'hello', env.PORT || 80, env.REGION, env.LIMITS?.valueOf(), env.AI.run('m'), env.OAUTH_PROVIDER, THEME, locale, mail]
}
const server`
    const files: Files = {
      ...inMain('const server', uses),
      [toml]: `${inToml[toml]}\n[ai]\nbinding = "AI"\n\n[[kv_namespaces]]\nbinding = "CACHE"\nid = "1"\nremote = true\n`,
      'vendor/node_modules/oauth/index.js': 'export function handle(env) { env.OAUTH_PROVIDER ??= {} }\n',
    }
    expect(await examined(files, true)).toEqual([])
  },
)

test('a project may import state() that it does not use, and leave its secrets to the deployment', async () => {
  const from = { main: 'const { ISSUER } =', toml: '[vars]' }
  const withSecret = planted(inToml, toml, from.toml, '[secrets]\nrequired = ["API_SECRET"]\n\n[vars]')
  const use = "if (!(env as { API_SECRET?: string }).API_SECRET) throw new Error('no secret')\nconst { ISSUER } ="
  expect(await examined(planted(withSecret, main, from.main, use))).toEqual([])

  const secret = 'env as { API_SECRET: string }'
  for (const option of ['registryAuth', 'openAiChallenge']) {
    const published = planted(
      planted(
        withSecret,
        main,
        'tasks()]',
        `tasks(), discovery({ name: 'com.example/good', ${option}: (${secret}).API_SECRET })]`,
      ),
      main,
      'const server',
      "import { discovery } from 'edgemcp/discovery'\nconst server",
    )
    expect(await examined(published)).toEqual([])
  }

  const unused = planted(inToml, main, /const basket = .*\n/, '')
  const without = planted(unused, main, /server\.tool\('new_basket'.*\n/, '')
  const unexported = planted(without, main, "export { McpState } from 'edgemcp/state'\n", '')
  const undeclared = planted(unexported, toml, ', "McpState"', '')
  expect(await examined(planted(undeclared, main, 'rateLimit: { concurrent: 2 } },', '},'))).toEqual([])
})

test('doctor proposes no edit that the parser of the configuration would read differently', async () => {
  const nested = planted(
    inJson,
    'wrangler.jsonc',
    '"compatibility_flags": ["enable_request_signal"],',
    '"env": { "test": { "compatibility_flags": ["enable_request_signal"], "vars": { "ISSUER": "" } } },',
  )
  const [finding, ...others] = await examined(nested)
  expect(finding).toMatchObject({ rule: 'request-signal' })
  expect(others).toEqual([])
  expect(await examined(mended(nested, finding as Finding))).toEqual([])
  const table = added(toml, '\n[secrets]\n# none yet\n')
  const [secret] = await examined({
    ...table,
    [main]:
      inMain('const server', 'export const key = () => (env as { MAIL_KEY: string }).MAIL_KEY\nconst server')[main] ??
      '',
  })
  expect(secret).toMatchObject({ rule: 'secret-undeclared', change: undefined })
})

test('doctor does not mention nodejs_compat before it is on by default', async () => {
  const files = inConfig(
    /compatibility_date.*\n.*/,
    'compatibility_date = "2026-07-01"\ncompatibility_flags = ["enable_request_signal", "nodejs_compat"]',
  )
  expect(await examined(files)).toEqual([])
})

const counters = [
  {
    what: 'a rate of the server',
    files: counting({ limiter: "rate: '600/m'" }),
    problem: 'An object counts the rate "600/m" of rateLimit() (which has no binding RATE_600_PER_60S)',
    fix: "Add: export { McpState } from 'edgemcp/state'",
  },
  {
    what: 'a quota of a tool, with a class of its own',
    files: counting({
      tool: ", rateLimit: { quota: '5/d' }",
      served: ", durableObjects: { names: { McpState: 'Counters' } }",
    }),
    problem: 'An object counts the quota "5/d" of "greet"',
    fix: "Add: export { McpState as Counters } from 'edgemcp/state'",
  },
]

test.each(sample(counters, counters.length))(
  '$what requires the export of a class that is missing',
  async ({ files, problem, fix }) => {
    const found = await examined(files)
    expect(found).toMatchObject([
      {
        rule: 'class-not-exported',
        level: 'error',
        file: main,
        line: 6,
        problem: expect.stringContaining(problem),
        fix,
      },
    ])
    expect(await examined(mended(files, found[0] as Finding))).toEqual([])
  },
)

/** Two servers of one Worker. */
const twoServers = (served: string, exported = '', migrated = ''): Files => ({
  [main]: `import { createServer, serve } from 'edgemcp'
import { combine } from 'edgemcp/compose'
import { sessions } from 'edgemcp/sessions'
const notes = createServer({ name: 'notes', version: '1.0.0' })
const admin = createServer({ name: 'admin', version: '1.0.0' })
const notesWorker = serve(notes, { origins: [], plugins: [sessions()] })
const adminWorker = serve(admin, { path: '/admin/mcp', origins: []${served} })
export default combine(notesWorker, adminWorker)
export const { McpSession } = notesWorker
${exported}
`,
  [toml]:
    (inToml[toml] ?? '').replace(', "McpSubscriptions", "McpTask", "McpState"', migrated).split('\n[vars]')[0] ?? '',
})

test('doctor finds two servers with one session class, and accepts separate classes', async () => {
  expect(await examined(twoServers(', plugins: [sessions()]'))).toMatchObject([
    { rule: 'does-not-start', problem: expect.stringContaining('Another serve() has the class McpSession') },
  ])
  const own = twoServers(
    ", plugins: [sessions()], durableObjects: { names: { McpSession: 'AdminSession' } }",
    'export const { McpSession: AdminSession } = adminWorker',
    ', "AdminSession"',
  )
  expect(await examined(own)).toEqual([])
  expect(await examined(twoServers(''))).toEqual([])
})

test('tenants need no auth of the endpoint, and may have routes of their own', async () => {
  const files: Files = {
    [main]: `import { createServer, serve } from 'edgemcp'
import { bearer, tenants } from 'edgemcp/auth'
import { sessions } from 'edgemcp/sessions'
const server = createServer({ name: 'shop', version: '1.0.0' })
server.tool('orders', { description: 'Lists orders', scopes: ['orders:read'] }, () => 'none')
const issuers = new Map([['acme', 'https://login.acme.example']])
const worker = serve(server, {
  tenants: tenants('/{tenant}/mcp', (tenant) => {
    const issuer = issuers.get(tenant)
    return issuer === undefined ? undefined : { auth: bearer({ issuer }) }
  }),
  origins: [],
  plugins: [sessions()],
})
export default worker
export const { McpSession } = worker
`,
    [toml]:
      (inToml[toml] ?? '')
        .replace(', "McpSubscriptions", "McpTask", "McpState"', '')
        .replace('name = "good"\n', 'name = "good"\nroutes = ["mcp.example.com/acme/*"]\n')
        .split('\n[vars]')[0] ?? '',
  }
  expect(await examined(files)).toEqual([])
})

const malformed: [file: string, text: string][] = [
  ['.dev.vars', 'OTHER=1\nEDGEMCP_KEYS="abc" # short\n'],
  ['.env', 'EDGEMCP_KEYS=a:c2hvcnQ\n'],
]

test.each(sample(malformed, malformed.length))(
  'doctor finds malformed keys in %s without printing them',
  async (file, text) => {
    const found = await examined({ ...inToml, [file]: text }, isFull)
    expect(found).toMatchObject([
      {
        rule: 'keys-malformed',
        level: 'error',
        file,
        line: text.split('\n').findIndex((line) => line.startsWith('EDGEMCP_KEYS')) + 1,
        problem:
          'The server cannot use EDGEMCP_KEYS, so input requests and sessions fail: it must be a comma-separated list of "id:key"; ids differ, keys are 32 bytes in base64url.',
        fix: expect.stringContaining("require('node:crypto').randomBytes(32).toString('base64url')"),
      },
    ])
    expect(JSON.stringify(found)).not.toMatch(/abc|c2hvcnQ/)
    const good = `EDGEMCP_KEYS="a:${'k'.repeat(43)},b:${'l'.repeat(43)}"\n`
    expect(await examined({ ...inToml, [file]: good }, isFull)).toEqual([])
  },
)

test.each(['.dev.vars', '.env'])('a folder in place of %s is an error that names the folder', async (file) => {
  using project = write({ ...inToml, [`${file}/KEY`]: '' })
  const wrangler: Wrangler = {
    ...wranglerOf(project.folder),
    bundle: async () => emptyBundle,
    run: async () => started,
  }
  await expect(examine(project.folder, () => wrangler)).rejects.toThrow(
    new CliError(`Cannot read "${join(project.folder, file)}": it is a folder (EISDIR). Name a file.`),
  )
})
test('a missing folder for temporary files is not reported as a failed build', async () => {
  using project = write(inToml)
  const wrangler: Wrangler = { ...wranglerOf(project.folder), run: async () => started }
  vi.stubEnv('TMPDIR', '/nonexistent')
  try {
    await expect(examine(project.folder, () => wrangler)).rejects.toThrow(
      new CliError(
        'Cannot create a folder in "/nonexistent": it does not exist (ENOENT). Check the path and its symbolic links.',
      ),
    )
  } finally {
    vi.unstubAllEnvs()
  }
})

test('a package.json that is not JSON is an error that names it', () => {
  using project = write(inToml)
  writeFileSync(join(project.folder, 'package.json'), '{ "name": ')
  expect(() => wranglerOf(project.folder)).toThrow(
    new RegExp(`^Cannot find the wrangler of this project: .*${join(project.folder, 'package.json')}.*`),
  )
})

const emptyBundle: Awaited<ReturnType<Wrangler['bundle']>> = { exports: [], size: 0, inputs: [] }
const started: Awaited<ReturnType<Wrangler['run']>> = { isUp: true, log: [] }

/** A wrangler whose builds write until they are killed, whatever removes their folder, and whose Worker never starts. */
function writeStubbornWrangler(folder: string): void {
  rmSync(join(folder, 'node_modules'))
  const wrangler = join(folder, 'node_modules/wrangler')
  mkdirSync(wrangler, { recursive: true })
  writeFileSync(
    join(wrangler, 'index.js'),
    `const { mkdirSync, writeFileSync } = require('node:fs')
if (require.main === module) {
  process.on('SIGINT', () => {})
  const out = process.argv[process.argv.indexOf('--outdir') + 1]
  setInterval(() => mkdirSync(out, { recursive: true }), 1)
  setTimeout(() => writeFileSync('writes', ''), 10)
  setTimeout(() => process.exit(), 60_000)
}
exports.experimental_readRawConfig = () => ({ rawConfig: {} })
exports.createTestHarness = () => ({ listen: () => new Promise(() => {}), getLogs: () => [], close: async () => {} })
`,
  )
}

describe('edgemcp doctor', () => {
  const doctor = (...args: string[]) =>
    new Promise<{ code: number | null; said: string; complained: string }>((resolve) => {
      const program = [join(root, 'cli/index.ts'), 'doctor', ...args]
      const started = execFile(process.execPath, program, (_, said, complained) =>
        resolve({ code: started.exitCode, said, complained }),
      )
    })

  test('prints the place, the problem and the fix, and exits with 1 when a finding is an error', async () => {
    using project = write(inConfig('"enable_request_signal"', ''))
    expect(await doctor(project.folder)).toEqual({
      code: 1,
      said: `error  wrangler.toml:4  (request-signal)
  The flag enable_request_signal is missing: calls continue after their client disconnects.
  Fix: Add the flag.
    - compatibility_flags = []
    + compatibility_flags = ["enable_request_signal"]
`,
      complained: '',
    })
  })

  test('exits with 0 when all findings are hints, and prints JSON with --json', async () => {
    using project = write(inMain("import * as z from 'zod'", "import { z } from 'zod'"))
    const { code, stdout } = await runHere(['doctor', project.folder, '--json'], root)
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual({
      ok: true,
      findings: [
        {
          rule: 'zod-import',
          level: 'hint',
          file: main,
          line: 9,
          problem: expect.stringContaining('65 KB'),
          fix: "Write import * as z from 'zod'.",
          change: { from: "import { z } from 'zod'", to: "import * as z from 'zod'" },
        },
      ],
    })
  })

  test.each([
    ['', () => {}],
    [' and the build goes on', writeStubbornWrangler],
  ])('leaves no files of the build behind when Ctrl+C ends it%s', async (_, change) => {
    using project = write(inToml)
    change(project.folder)
    const temporary = join(project.folder, 'temporary')
    mkdirSync(temporary)
    const env = { ...process.env, TMPDIR: temporary }
    // Ctrl+C reaches all processes of the terminal: a group of their own.
    const started = spawn(process.execPath, [join(root, 'cli/index.ts'), 'doctor', project.folder], {
      env,
      detached: true,
    })
    const ended = once(started, 'exit')
    const folders = () => readdirSync(temporary).filter((name) => name.startsWith('edgemcp-doctor-'))
    const isWriting = () => change !== writeStubbornWrangler || existsSync(join(project.folder, 'writes'))
    await vi.waitUntil(() => folders().length > 0 && isWriting(), { timeout: 30_000, interval: 5 })
    process.kill(-(started.pid ?? 0), 'SIGINT')
    await ended
    expect(folders()).toEqual([])
  })

  test('reports a missing wrangler, folder or configuration', async () => {
    using project = write(inToml)
    rmSync(join(project.folder, 'node_modules'))
    const examine = (folder: string) => runHere(['doctor', folder], root)
    expect(await examine(project.folder)).toMatchObject({
      code: 1,
      stderr: 'There is no wrangler in this project: npm install --save-dev wrangler, and try again.',
    })
    expect(await examine(join(project.folder, 'nowhere'))).toMatchObject({ code: 1, stdout: '' })
    expect((await examine(join(project.folder, 'src'))).stdout).toContain(
      'no wrangler.toml, wrangler.json or wrangler.jsonc',
    )
  })
})

test.each([
  ['TOML', inToml],
  ['JSON', inJson],
])('doctor has no findings in a correct project with %s', async (_, files) => {
  expect(await examined(files, isFull)).toEqual([])
})

test.runIf(isFull).each(readdirSync(join(root, 'examples')))('doctor has no findings in examples/%s', async (name) => {
  expect(await examine(join(root, 'examples', name))).toEqual([])
})
