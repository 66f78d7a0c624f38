import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Finding } from '../../cli/doctor/finding.ts'
import { type Wrangler, wranglerOf } from '../../cli/doctor/wrangler.ts'
import { paths } from '../../cli/submit/subject.ts'
import { directories, type SubmitOptions, submitProject } from '../../cli/submit/submit.ts'
import { type Files, write } from './good-project.ts'
import { quickBundle } from './quick-bundle.ts'
import { quickRun } from './quick-run.ts'
import { runHere } from './run-here.ts'

const root = resolve(import.meta.dirname, '../..')
const main = 'src/index.ts'

const bundles = new Map<string, ReturnType<Wrangler['bundle']>>()
const runs = new Map<string, ReturnType<Wrangler['run']>>()

/** Calls `make` once for each key. */
function memoised<T>(made: Map<string, T>, key: string, make: () => T): T {
  const value = made.get(key) ?? make()
  made.set(key, value)
  return value
}

/** Builds and runs each project once, in this process, as the tests of doctor do. */
const quickWrangler =
  (files: Files, { url }: SubmitOptions = {}) =>
  (folder: string): Wrangler => {
    const wrangler = wranglerOf(folder)
    const key = JSON.stringify(files)
    return {
      ...wrangler,
      bundle: (file, date) =>
        memoised(
          bundles,
          key,
          async () =>
            (await quickBundle(folder, wrangler.readConfig(file).main ?? '')) ?? (await wrangler.bundle(file, date)),
        ),
      run: (file, vars, urlsOf) =>
        memoised(
          runs,
          `${key}${url}`,
          async () =>
            (await quickRun(folder, file, vars, wrangler, urlsOf)) ?? (await wrangler.run(file, vars, urlsOf)),
        ),
    }
  }

/** A project with one module. */
const project = (code: string, config = ''): Files => ({
  [main]: code,
  'wrangler.toml': `name = "weather"\nmain = "${main}"\ncompatibility_date = "2026-10-15"\ncompatibility_flags = ["enable_request_signal"]\n${config}`,
})

/** Submits a project. @param before files of an earlier run, relative to the project */
async function submitted(directory: string, files: Files, options: SubmitOptions = {}, before: Files = {}) {
  using written = write(files)
  for (const [path, text] of Object.entries(before)) {
    mkdirSync(dirname(join(written.folder, path)), { recursive: true })
    writeFileSync(join(written.folder, path), text)
  }
  const out = join(written.folder, 'submission', directory)
  const { findings, files: report } = await submitProject(
    directory,
    written.folder,
    options,
    quickWrangler(files, options),
  )
  const read = (file: string) => (existsSync(join(out, file)) ? readFileSync(join(out, file), 'utf8') : undefined)
  const statuses = report.map(({ file, status }) => [file.split('/').at(-1), status])
  const texts = Object.fromEntries(
    report.map(({ file }) => [file.split('/').at(-1), read(file.split('/').at(-1) ?? '')]),
  )
  return { findings, statuses: Object.fromEntries(statuses), texts }
}

const json = (text: string | undefined) => JSON.parse(text ?? 'null')

type Found = [rule: string, level: Finding['level'], line: string, problem: string, fix: string]

/** What a finding says, with the text of its line. */
const asFound = ({ rule, level, file, line, problem, fix }: Finding, files: Files): Found => [
  rule,
  level,
  (files[file]?.split('\n')[(line ?? 0) - 1] ?? '').trim(),
  problem,
  fix,
]

const text = (part: string) => expect.stringContaining(part)

const registryGood = project(
  `import { createServer, serve } from 'edgemcp'
import { discovery } from 'edgemcp/discovery'
const server = createServer({
  name: 'weather', version: '1.2.0', title: 'Weather', description: 'Forecasts for every town', websiteUrl: 'https://example.com',
  icons: [{ src: 'https://example.com/icon.png', mimeType: 'image/png', sizes: ['48x48'] }],
})
server.tool('forecast', { description: 'Returns a forecast' }, () => 'sunny')
export default serve(server, {
  plugins: [discovery({
    name: 'com.example.mcp/weather', origin: 'https://mcp.example.com', registryAuth: 'v=MCPv1; k=ed25519; p=${'A'.repeat(43)}=',
    repository: { url: 'https://github.com/example/weather', source: 'github' },
  })],
})
`,
)

/** Servers that are chosen by host. */
const byHost = project(
  `import { createServer, serve } from 'edgemcp'
import { combine, routeByHost } from 'edgemcp/compose'
import { discovery } from 'edgemcp/discovery'
const serverOf = (name: string) =>
  serve(createServer({ name, version: '1.2.0', description: 'Forecasts' }), { plugins: [discovery({ name: 'io.github.example/' + name })] })
const [notes, weather] = [serverOf('notes'), serverOf('weather')]
export default combine(routeByHost({ 'notes.example.com': notes, 'weather.example.com': weather }))
`,
  'routes = [{ pattern = "notes.example.com", custom_domain = true }, { pattern = "weather.example.com/*", zone_name = "example.com" }]\n',
)

describe('edgemcp submit registry', () => {
  test('writes server.json for a server without mistakes, with all that the server declares', async () => {
    const { findings, statuses, texts } = await submitted('registry', registryGood)
    expect(findings).toEqual([])
    expect(statuses).toEqual({ 'server.json': 'written' })
    expect(json(texts['server.json'])).toEqual({
      $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
      name: 'com.example.mcp/weather',
      title: 'Weather',
      description: 'Forecasts for every town',
      version: '1.2.0',
      websiteUrl: 'https://example.com',
      repository: { url: 'https://github.com/example/weather', source: 'github' },
      icons: [{ src: 'https://example.com/icon.png', mimeType: 'image/png', sizes: ['48x48'] }],
      remotes: [{ type: 'streamable-http', url: 'https://mcp.example.com/mcp' }],
    })
  })

  test('keeps what a user has added to server.json, and updates what the server declares', async () => {
    const headers = [{ name: 'X-Plan', description: 'Your plan' }]
    const before = {
      version: '1.1.0',
      _meta: { 'io.modelcontextprotocol.registry/publisher-provided': { by: 'hand' } },
      remotes: [
        { type: 'streamable-http', url: 'https://old.example.com/mcp', headers },
        { type: 'sse', url: 'https://mcp.example.com/sse' },
      ],
    }
    const { texts } = await submitted(
      'registry',
      registryGood,
      {},
      { 'submission/registry/server.json': JSON.stringify(before) },
    )
    expect(json(texts['server.json'])).toMatchObject({
      version: '1.2.0',
      _meta: before._meta,
      remotes: [{ type: 'streamable-http', url: 'https://mcp.example.com/mcp', headers }, before.remotes[1]],
    })
  })

  test('keeps members that the server does not declare, and remotes of other types', async () => {
    const before = {
      title: 'By hand',
      description: 'By hand',
      websiteUrl: 'https://example.com/by-hand',
      repository: { url: 'https://gitlab.com/example/group/weather', source: 'gitlab', subfolder: 'servers/weather' },
      icons: [{ src: 'https://example.com/by-hand.png' }],
      remotes: [{ type: 'sse', url: 'https://old.example.com/sse' }],
    }
    const written = { 'submission/registry/server.json': `\ufeff${JSON.stringify(before)}` }
    const url = 'https://mcp.example.com/mcp'
    for (const plugins of ['', `, { plugins: [discovery({ name: 'com.example/weather' })] }`]) {
      const files = project(`import { createServer, serve } from 'edgemcp'
import { discovery } from 'edgemcp/discovery'
export default serve(createServer({ name: 'weather', version: '1.2.0' })${plugins})
`)
      const { findings, texts } = await submitted(
        'registry',
        files,
        { url, name: 'io.github.example/weather' },
        written,
      )
      expect(findings).toEqual([])
      expect(json(texts['server.json'])).toEqual({
        ...before,
        $schema: text('2025-12-11'),
        name: 'io.github.example/weather',
        version: '1.2.0',
        remotes: [...before.remotes, { type: 'streamable-http', url }],
      })
      const { findings: missing, statuses } = await submitted('registry', files, {
        url,
        name: 'io.github.example/weather',
      })
      const isDescribed = plugins !== ''
      expect(missing.map(({ rule }) => rule)).toEqual(isDescribed ? [] : ['registry-description'])
      expect(statuses).toEqual({ 'server.json': isDescribed ? 'written' : 'not written' })
    }
  })

  test.each<[options: SubmitOptions, members: object, rules: string[]]>([
    [{ name: 'weather/towns' }, {}, ['registry-name']],
    [{ name: 'com.example/w' }, {}, ['registry-name']],
    [{ name: 'com.example/-weather' }, {}, ['registry-name']],
    [{ name: 'com..example/weather' }, {}, ['registry-name']],
    [{ url: 'https://localhost/mcp' }, {}, ['endpoint-url']],
    [{ url: 'https://{region}.example.com/mcp' }, {}, ['endpoint-url']],
    [
      { url: 'https://{region}.example.com/mcp' },
      { remotes: [{ type: 'streamable-http', variables: { region: { default: 'eu' } } }] },
      [],
    ],
    [{}, { title: ' ' }, ['registry-title']],
    [{}, { websiteUrl: 'http://example.com' }, ['registry-website']],
    [{}, { repository: { url: 'https://codeberg.org/a/b', source: 'codeberg' } }, ['registry-repository']],
    [{}, { repository: { url: 'https://github.com/a', source: 'github' } }, ['registry-repository']],
    [
      {},
      { repository: { url: 'https://github.com/a/b', source: 'github', subfolder: '../c' } },
      ['registry-repository'],
    ],
    [{}, { icons: [{ src: 'https://example.com/i.gif', mimeType: 'image/gif' }] }, ['registry-icons']],
    [{}, { icons: [{ src: 'https://example.com/i.png', sizes: ['48'] }] }, ['registry-icons']],
    [{}, { icons: [{ src: 'https://example.com/i.png', sizes: ['any', '48x48'], mimeType: 'image/png' }] }, []],
    [{}, { remotes: [{ type: 'sse', url: 'http://example.com/sse' }] }, ['endpoint-url']],
  ])('checks the finished server.json: %j %j', async (options, members, rules) => {
    const files = project(`import { createServer, serve } from 'edgemcp'
export default serve(createServer({ name: 'weather', version: '1.2.0', description: 'Forecasts' }))
`)
    const said = { name: 'io.github.example/weather', url: 'https://mcp.example.com/mcp', ...options }
    const { findings } = await submitted('registry', files, said, {
      'submission/registry/server.json': JSON.stringify(members),
    })
    expect(findings.map(({ rule }) => rule)).toEqual(rules)
    const isOfFile = Object.keys(members).length > 0 && !rules.includes('endpoint-url')
    if (isOfFile) expect(findings.every(({ file }) => file === 'submission/registry/server.json')).toBe(true)
  })

  test.each([
    ['1.2.0-next.1', 'looks like a range'],
    ['1.2.x', 'looks like a range'],
    ['1 - 2', 'looks like a range'],
    ['1.2.0-rc.1', undefined],
    ['2026-11-30', undefined],
  ])('takes the version %s for what the registry takes it for', async (version, problem) => {
    const files = project(`import { createServer, serve } from 'edgemcp'
export default serve(createServer({ name: 'weather', version: '${version}', description: 'Forecasts' }))
`)
    const said = { name: 'io.github.example/weather', url: 'https://mcp.example.com/mcp' }
    const { findings } = await submitted('registry', files, said)
    expect(findings).toMatchObject(problem ? [{ rule: 'registry-version', problem: text(problem) }] : [])
  })

  test('leaves out icons of types and sizes that the registry does not take', async () => {
    const files = project(`import { createServer, serve } from 'edgemcp'
const icons = [{ src: 'https://example.com/i.gif', mimeType: 'image/gif' }, { src: 'https://example.com/i.png', mimeType: 'image/png' }]
export default serve(createServer({ name: 'weather', version: '1.2.0', description: 'Forecasts', icons }))
`)
    const said = { name: 'io.github.example/weather', url: 'https://mcp.example.com/mcp' }
    const { findings, texts } = await submitted('registry', files, said)
    expect(findings).toMatchObject([
      { rule: 'registry-icons', level: 'hint', problem: text('leaves out the icon https://example.com/i.gif') },
    ])
    expect(json(texts['server.json']).icons).toEqual([{ src: 'https://example.com/i.png', mimeType: 'image/png' }])
  })

  test.each(['?api-key=1', '?auth=1', '?code=1&access_token=1', 'https://ada:secret@mcp.example.com/mcp'])(
    'writes no URL with a credential: %s',
    async (part) => {
      const url = part.startsWith('?') ? `https://mcp.example.com/mcp${part}` : part
      for (const [directory, file] of [
        ['registry', 'server.json'],
        ['microsoft', 'ai-plugin.json'],
        ['anthropic', 'tools.md'],
      ] as const) {
        const { findings, statuses } = await submitted(directory, registryGood, { url })
        expect(findings.map(({ rule }) => rule)).toContain('token-in-url')
        expect(statuses).toEqual({ [file]: 'not written' })
      }
    },
  )

  test('finds the card of each server that has a host', async () => {
    for (const server of ['notes', 'weather']) {
      const { findings, texts } = await submitted('registry', byHost, { server })
      expect(findings).toEqual([])
      expect(json(texts['server.json'])).toMatchObject({
        name: `io.github.example/${server}`,
        remotes: [{ url: `https://${server}.example.com/mcp` }],
      })
    }
  })

  test('finds each mistake of a server, and writes no file without a name', async () => {
    const files = project(`import { createServer, serve } from 'edgemcp'
const server = createServer({ name: 'weather', version: '^1.2.0', title: '${'t'.repeat(101)}', description: '${'d'.repeat(101)}', icons: [{ src: 'data:image/png;base64,AA==' }] })
export default serve(server)
`)
    const { findings, statuses } = await submitted('registry', files)
    const created = text('const server = createServer(')
    expect(findings.map((one) => asFound(one, files))).toEqual([
      [
        'registry-name',
        'error',
        'export default serve(server)',
        text('no name for the registry'),
        text("discovery({ name: 'com.example/weather' })"),
      ],
      [
        'registry-description',
        'error',
        created,
        text('has 101 characters: the registry takes 100'),
        text('at most 100 characters'),
      ],
      ['registry-title', 'error', created, text('has 101 characters'), text('at most 100 characters')],
      ['registry-version', 'error', created, text('"^1.2.0" is not one release'), text('the version of this release')],
      [
        'endpoint-url',
        'error',
        'export default serve(server)',
        text('Nothing says at which URL'),
        text('--url https://mcp.example.com/mcp'),
      ],
      ['registry-icons', 'hint', created, text('leaves out the icon data:image/png'), text('HTTPS URL')],
    ])
    expect(statuses).toEqual({ 'server.json': 'not written' })
  })

  test('finds mistakes of the name, of the URL and of the proof', async () => {
    const card = (name: string) =>
      project(`import { createServer, serve } from 'edgemcp'
const card = JSON.stringify({ name: '${name}', description: 'Forecasts' })
const routes = () => [{ path: '/mcp/server-card', methods: ['GET'] as const, handle: () => new Response(card) }]
export default serve(createServer({ name: 'weather', version: '1.2.0' }), { plugins: [{ name: 'card', routes }] })
`)
    const served = text('export default serve(')
    const wrong = card('weather/of/towns')
    const { findings } = await submitted('registry', wrong, { url: 'http://mcp.example.com/mcp?api_key=1' })
    expect(findings.map((one) => asFound(one, wrong))).toEqual([
      ['token-in-url', 'error', served, text('credential in "api_key"'), text('OAuth')],
      ['registry-name', 'error', served, text('"weather/of/towns"'), text('com.example/weather')],
      ['endpoint-url', 'error', served, text('does not begin with https://'), text('--url')],
    ])
    const unproved = card('com.example.mcp/weather')
    const url = 'https://mcp.example.com/mcp'
    const { findings: hints, statuses } = await submitted('registry', unproved, { url })
    expect(hints.map((one) => asFound(one, unproved))).toEqual([
      [
        'registry-auth',
        'hint',
        served,
        text('that you control mcp.example.com'),
        text('TXT record of mcp.example.com'),
      ],
    ])
    expect(statuses).toEqual({ 'server.json': 'written' })
    expect((await submitted('registry', card('io.github.example/weather'), { url })).findings).toEqual([])
  })

  test('takes the URL of a route, and the tenant of a path as a variable', async () => {
    const files = project(
      `import { createServer, serve } from 'edgemcp'
import { bearer, tenants } from 'edgemcp/auth'
const found = { auth: bearer({ issuer: 'https://auth.example.com' }) }
export default serve(createServer({ name: 'weather', version: '1.2.0', description: 'Forecasts' }), {
  tenants: tenants('/{tenant}/mcp', () => found),
})
`,
      'routes = [{ pattern = "mcp.example.com", custom_domain = true }]\n',
    )
    const { texts } = await submitted('registry', files, { name: 'io.github.example/weather' })
    expect(json(texts['server.json'])?.remotes).toEqual([
      {
        type: 'streamable-http',
        url: 'https://mcp.example.com/{tenant}/mcp',
        variables: { tenant: { description: 'Name of your organization', isRequired: true } },
      },
    ])
    // Other directories take one URL.
    const { findings } = await submitted('microsoft', files)
    expect(findings.find(({ rule }) => rule === 'endpoint-url')).toMatchObject({
      problem: text('is different for each tenant'),
      fix: text('the URL of one tenant with --url'),
    })
  })
})

/** A server that every directory takes, with an app and a skill. */
const goodCode = `import { createServer, serve } from 'edgemcp'
import { app } from 'edgemcp/apps'
import { bearer } from 'edgemcp/auth'
import { discovery } from 'edgemcp/discovery'
import { skills } from 'edgemcp/skills'
import * as z from 'zod'
const server = createServer({ name: 'weather', version: '1.2.0', title: 'Weather', description: 'Forecasts for every town' })
const chart = app('ui://chart', {
  description: 'Draws a forecast', html: '<p>', csp: { connectDomains: ['https://api.example.com'] }, domain: 'https://app.example.com',
})
server.use(chart)
server.use(skills([{ folder: 'packing', frontmatter: { name: 'packing', description: 'Packs a bag' }, files: [{ path: 'SKILL.md', digest: 'sha256:334359b90efed75da5f0ada1d5e6b256f4a6bd0aee7eb39c0f90182a021ffc8b', size: 1, text: '#' }] }]))
server.tool(
  'get_forecast',
  {
    title: 'Get a forecast',
    description: 'Returns the forecast of a town, in metric or imperial units',
    inputSchema: z.object({ town: z.string().describe('Name'), units: z.enum(['metric', 'imperial']).optional(), days: z.int().min(1).max(7) }),
    outputSchema: z.object({ text: z.string() }),
    annotations: { readOnlyHint: true, destructiveHint: false, openWorldHint: false },
    _meta: chart.toolMeta(['model', 'app']),
    scopes: [],
  },
  () => ({ text: 'sunny' }),
)
server.tool(
  'delete_town',
  {
    title: 'Delete a town',
    description: 'Removes a town from the list of the user',
    inputSchema: z.object({ town: z.string() }),
    outputSchema: z.object({ deleted: z.boolean() }),
    annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: false },
    scopes: [],
  },
  () => ({ deleted: true }),
)
export default serve(server, {
  auth: bearer({ issuer: 'https://auth.example.com' }),
  plugins: [discovery({ name: 'com.example.mcp/weather', origin: 'https://mcp.example.com', openAiChallenge: 'token' })],
})
`
const good = project(goodCode)

/** Mistakes of tools, of apps, of skills and of the sign-in. */
const badCode = `import { apiKeys } from 'edgemcp/api-keys'
import { createServer, serve } from 'edgemcp'
const server = createServer({ name: 'weather', version: '1.2.0', description: 'd'.repeat(4001) })
const text = () => 'sunny'
const annotations = { readOnlyHint: true }
const page = () => '<p>'
server.tool('${'n'.repeat(65)}', { title: 'Long', description: 'Returns a forecast', annotations }, text)
server.tool('town.list', { title: 'List', description: 'Lists towns', annotations }, text)
server.tool('no_title', { description: 'Returns a forecast', annotations }, text)
server.tool('no_description', { title: 'None', description: ' ', annotations }, text)
server.tool('no_hints', { title: 'Get', description: 'Returns a forecast' }, text)
server.tool('add_town', { title: 'Add', description: 'Adds a town', annotations: { readOnlyHint: false, destructiveHint: false } }, text)
server.tool('both', { title: 'Both', description: 'Reads and deletes', annotations: { readOnlyHint: true, destructiveHint: true } }, text)
server.tool('api_request', { title: 'Any', description: 'Calls the weather API', annotations: { destructiveHint: true }, inputSchema: methods() }, text)
server.tool('after', { title: 'After', description: 'Call add_town first. It never reads both.', annotations }, text)
server.tool('steers', { title: 'Steers', description: 'Returns a forecast. Never use other tools for this.', annotations }, text)
server.tool('hides', { title: 'Hides', description: 'Returns a\\u200b forecast', annotations }, text)
server.tool('app_unknown', { title: 'Unseen', description: 'Draws', annotations, _meta: { ui: { resourceUri: 'ui://unknown' } } }, text)
server.tool('app_hidden', { title: 'Hidden', description: 'Draws', annotations, _meta: { ui: { visibility: ['user'] } } }, text)
server.resource('ui://open', { description: 'Open' }, page)
server.resource('ui://wide', { description: 'Wide', _meta: { ui: { csp: { connectDomains: ['https://*.example.com'] } } } }, page)
server.resource('skill://packing/SKILL.md', { description: 'Packs' }, () => '#')
const worker = serve(server, { auth: apiKeys() })
export default worker
export const { McpApiKeys } = worker
import * as z from 'zod'
function methods() { return z.object({ path: z.string(), request: z.object({ method: z.enum(['GET', 'DELETE']) }) }) }
`
const bad = project(badCode, '[[migrations]]\ntag = "v1"\nnew_sqlite_classes = ["McpApiKeys"]\n')

/** The findings with the rule, the level and the tool or the start of the line; texts are in `fixes`. */
const shortly = (findings: readonly Finding[], files: Files) =>
  findings.map((one) => [
    one.rule,
    one.level,
    (/\((['"][^'"]*['"])/.exec(asFound(one, files)[2])?.[1] ?? asFound(one, files)[2]).slice(0, 30),
  ])

describe('edgemcp submit anthropic', () => {
  test('writes the texts of the form for a server without mistakes', async () => {
    const { findings, statuses, texts } = await submitted('anthropic', good)
    expect(findings).toEqual([])
    expect(statuses).toEqual({ 'tools.md': 'written' })
    expect(texts['tools.md']).toContain(`# Weather

Forecasts for every town

- URL: https://mcp.example.com/mcp
- Transport: Streamable HTTP
- Authentication: OAuth

| tool | title | annotations | description |
|---|---|---|---|
| \`get_forecast\` | Get a forecast | read-only | Returns the forecast of a town, in metric or imperial units |
| \`delete_town\` | Delete a town | destructive | Removes a town from the list of the user |
`)
  })

  test('finds each mistake, with its place and its fix, and nothing else', async () => {
    const { findings } = await submitted('anthropic', bad, { url: 'https://mcp.example.com/mcp?token=1' })
    expect(shortly(findings, bad)).toEqual([
      ['tool-name', 'error', `'${'n'.repeat(29)}`],
      ['tool-title', 'error', "'no_title'"],
      ['tool-description', 'error', "'no_description'"],
      ['tool-hints', 'error', "'no_hints'"],
      ['contradicting-hints', 'error', "'both'"],
      ['read-and-write', 'error', "'api_request'"],
      ['hidden-characters', 'error', "'hides'"],
      ['app-visibility', 'error', "'app_hidden'"],
      ['app-document', 'error', "'app_unknown'"],
      ['static-token', 'error', 'const worker = serve(server, {'],
      ['token-in-url', 'error', 'const worker = serve(server, {'],
      ['write-hint', 'hint', "'add_town'"],
      ['names-other-tools', 'hint', "'after'"],
      ['steers-model', 'hint', "'steers'"],
    ])
    expect(fixes(findings)).toEqual({
      'tool-name': text('at most 64 characters'),
      'tool-title': text("title: 'Find products'"),
      'tool-description': text('what the tool does and when'),
      'tool-hints': text('annotations: { readOnlyHint: true }'),
      'contradicting-hints': text('make two tools'),
      'read-and-write': text('a tool that reads, and one for each kind of change'),
      'hidden-characters': text('without invisible characters'),
      'app-visibility': text("chart.toolMeta(['app'])"),
      'app-document': text("app('ui://unknown'"),
      'static-token': text('signIn(…) or bearer(…)'),
      'token-in-url': text('OAuth'),
      'write-hint': text('destructiveHint: true'),
      'names-other-tools': text('instructions of createServer()'),
      'steers-model': text('what the tool does and when'),
    })
    expect(findings.find(({ rule }) => rule === 'read-and-write')?.problem).toContain('"request.method"')
    expect(findings.find(({ rule }) => rule === 'names-other-tools')?.problem).toContain('other tools: add_town.')
    expect(findings.find(({ rule }) => rule === 'hidden-characters')?.problem).toContain('U+200B')
  })

  test('keeps a tools.md that a user has written, and replaces its own', async () => {
    const own = { 'submission/anthropic/tools.md': '# By hand' }
    expect((await submitted('anthropic', good, {}, own)).statuses).toEqual({ 'tools.md': 'kept' })
    const old = {
      'submission/anthropic/tools.md':
        '<!-- Generated by `npx edgemcp submit anthropic`: do not edit this file, run the command again. -->\n',
    }
    expect((await submitted('anthropic', good, {}, old)).statuses).toEqual({ 'tools.md': 'written' })
  })
})

const fixes = (findings: readonly Finding[]) => Object.fromEntries(findings.map(({ rule, fix }) => [rule, fix]))

/** Replaces what `submit openai` leaves to the user. */
const filledIn = (value: unknown, name = ''): unknown =>
  typeof value === 'string' && value.startsWith('TODO:')
    ? name === 'category'
      ? 'LIFESTYLE'
      : `By hand`
    : Array.isArray(value)
      ? value.map((one) => filledIn(one))
      : typeof value === 'object' && value !== null
        ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, filledIn(one, key)]))
        : value

const submissionPath = 'submission/openai/chatgpt-app-submission.json'

/** The files of a run, for the next one. */
const asBefore = (texts: Readonly<Record<string, string | undefined>>): Files =>
  Object.fromEntries(Object.entries(texts).map(([file, written]) => [`submission/openai/${file}`, written ?? '']))

describe('edgemcp submit openai', () => {
  test('writes the submission, and reports what only the developer can write', async () => {
    const { findings, statuses, texts } = await submitted('openai', good)
    expect(findings).toEqual([
      {
        rule: 'to-fill-in',
        level: 'hint',
        file: submissionPath,
        problem: text(
          'Only you can write these 30 texts: app_info.subtitle, app_info.category, tools.get_forecast.justifications.read_only_justification and 27 more.',
        ),
        fix: text('The next run keeps what you write'),
      },
    ])
    expect(statuses).toEqual({ 'chatgpt-app-submission.json': 'written', 'tools.json': 'written' })
    const submission = json(texts['chatgpt-app-submission.json'])
    expect(submission).toMatchObject({
      $schema: 'https://developers.openai.com/plugins/schemas/chatgpt-app-submission.v1.json',
      schema_version: 1,
      app_info: {
        display_name: 'Weather',
        description: 'Forecasts for every town',
        subtitle: text('TODO: '),
        category: text('TODO: '),
      },
      tools: {
        get_forecast: {
          annotations: { readOnlyHint: true, openWorldHint: false, destructiveHint: false },
          justifications: {
            read_only_justification: 'TODO: readOnlyHint is true. Say what the tool reads or computes.',
            open_world_justification: 'Only reads: changes nothing that is public, and nothing in other systems.',
            destructive_justification: 'Only reads: deletes, overwrites and sends nothing.',
          },
        },
        delete_town: {
          annotations: { readOnlyHint: false, openWorldHint: false, destructiveHint: true },
          justifications: {
            read_only_justification: text('TODO: readOnlyHint is false.'),
            open_world_justification: text('TODO: openWorldHint is false.'),
            destructive_justification: text('TODO: destructiveHint is true.'),
          },
        },
      },
    })
    expect(submission.test_cases.map((one: { tools_triggered: string }) => one.tools_triggered)).toEqual([
      'get_forecast',
      'delete_town',
      'get_forecast',
      'delete_town',
      'get_forecast',
    ])
    expect(submission.negative_test_cases).toHaveLength(3)
    expect(json(texts['tools.json']).tools.map(({ name }: { name: string }) => name)).toEqual([
      'get_forecast',
      'delete_town',
    ])
  })

  test('keeps what a user has written, has no finding then, and asks again when a hint has changed', async () => {
    const first = await submitted('openai', good)
    const written = filledIn(json(first.texts['chatgpt-app-submission.json']))
    const before = {
      [submissionPath]: `${JSON.stringify(written, null, 2)}\n`,
      'submission/openai/tools.json': first.texts['tools.json'] ?? '',
    }
    const second = await submitted('openai', good, {}, before)
    expect(second.findings).toEqual([])
    expect(second.statuses).toEqual({ 'chatgpt-app-submission.json': 'unchanged', 'tools.json': 'unchanged' })
    const changed = project(
      goodCode.replace('destructiveHint: true, openWorldHint: false', 'destructiveHint: true, openWorldHint: true'),
    )
    const third = await submitted('openai', changed, {}, before)
    expect(third.findings.map(({ rule, problem }) => [rule, problem])).toEqual([
      ['snapshot', text('delete_town has another annotations. ChatGPT keeps the tools that it has reviewed')],
      ['to-fill-in', text('this text: tools.delete_town.justifications.open_world_justification.')],
    ])
    expect(json(third.texts['chatgpt-app-submission.json']).tools.delete_town).toMatchObject({
      annotations: { openWorldHint: true },
      justifications: {
        read_only_justification: 'By hand',
        open_world_justification: 'TODO: openWorldHint is true now. Before, you wrote: By hand',
      },
    })
    const fourth = await submitted('openai', changed, {}, asBefore(third.texts))
    expect(fourth.texts).toEqual(third.texts)
    // The hint changes back.
    const fifth = await submitted('openai', good, {}, asBefore(third.texts))
    expect(json(fifth.texts['chatgpt-app-submission.json']).tools.delete_town.justifications).toMatchObject({
      open_world_justification: 'TODO: openWorldHint is false now. Before, you wrote: By hand',
    })
  })

  test('replaces a justification that it wrote itself when a hint has changed, and no other text', async () => {
    const { texts } = await submitted('openai', good)
    const first = json(texts['chatgpt-app-submission.json'])
    first.tools.delete_town.justifications.open_world_justification = 'TODO: ask the team'
    const before = { [submissionPath]: JSON.stringify(first) }
    expect(json((await submitted('openai', good, {}, before)).texts['chatgpt-app-submission.json'])).toEqual(first)
    const changed = project(
      goodCode
        .replace('readOnlyHint: true', 'readOnlyHint: false')
        .replace('destructiveHint: true', 'destructiveHint: false'),
    )
    const { tools } = json((await submitted('openai', changed, {}, before)).texts['chatgpt-app-submission.json'])
    expect(tools.get_forecast.justifications).toEqual({
      read_only_justification: 'TODO: readOnlyHint is false. Say which data the tool changes, and where.',
      open_world_justification: text('TODO: openWorldHint is false. Say in which private system'),
      destructive_justification: text('TODO: destructiveHint is false. Say why nothing is deleted'),
    })
    expect(tools.delete_town.justifications).toMatchObject({
      open_world_justification: 'TODO: ask the team',
      destructive_justification: text('TODO: destructiveHint is false. Say why nothing is deleted'),
    })
  })

  test('keeps the justifications of a tool that was renamed, until the user removes them', async () => {
    const first = filledIn(json((await submitted('openai', good)).texts['chatgpt-app-submission.json']))
    const renamed = project(goodCode.replace("'delete_town'", "'remove_town'"))
    const before = { [submissionPath]: JSON.stringify(first) }
    const { findings, texts } = await submitted('openai', renamed, {}, before)
    expect(findings).toMatchObject([
      { rule: 'removed-tool', level: 'error', file: submissionPath, problem: text('the tool "delete_town"') },
      { rule: 'test-cases', problem: text('the tool "delete_town"') },
      { rule: 'to-fill-in' },
    ])
    expect(json(texts['chatgpt-app-submission.json']).tools).toMatchObject({
      delete_town: { justifications: { read_only_justification: 'By hand' } },
      remove_town: { justifications: { read_only_justification: text('TODO:') } },
    })
    const { tools } = json(
      (await submitted('openai', renamed, {}, asBefore(texts))).texts['chatgpt-app-submission.json'],
    )
    expect(tools.delete_town.justifications.read_only_justification).toBe('By hand')
  })

  test('reports what changed since the last submission, until its copy is deleted', async () => {
    const { texts } = await submitted('openai', good)
    const renamed = project(
      goodCode.replace("'get_forecast'", "'forecast'").replace('Removes a town', 'Deletes a town'),
    )
    const { findings, statuses } = await submitted(
      'openai',
      renamed,
      {},
      { 'submission/openai/tools.json': texts['tools.json'] ?? '' },
    )
    expect(findings[0]).toMatchObject({
      rule: 'snapshot',
      level: 'hint',
      file: 'submission/openai/tools.json',
      problem: text('forecast is new; get_forecast is gone; delete_town has another description.'),
      fix: text('delete this file and run the command again'),
    })
    expect(statuses).toMatchObject({ 'tools.json': 'kept' })
  })

  test('finds tests that call no tool, and prompts that call one', async () => {
    const first = filledIn(json((await submitted('openai', good)).texts['chatgpt-app-submission.json'])) as {
      test_cases: object[]
      negative_test_cases: object[]
    }
    const problems = async (tests: object, negative: object) => {
      const [test, ...tests_] = first.test_cases
      const [prompt, ...prompts] = first.negative_test_cases
      const changed = {
        ...first,
        test_cases: [{ ...test, ...tests }, ...tests_],
        negative_test_cases: [{ ...prompt, ...negative }, ...prompts],
      }
      const { findings } = await submitted('openai', good, {}, { [submissionPath]: JSON.stringify(changed) })
      return findings.map(({ problem }) => problem)
    }
    expect(await problems({}, {})).toEqual([])
    expect(await problems({ tools_triggered: 'get_forecast, delete_town' }, {})).toEqual([])
    for (const wrong of [null, ['get_forecast'], undefined]) {
      expect(await problems({ tools_triggered: wrong }, {})).toEqual([text('test_cases.0 names no tool')])
    }
    expect(await problems({ tools_triggered: 'get_forecast,' }, {})).toEqual([text('calls the tool ""')])
    expect(await problems({}, { tools_triggered: 'get_forecast' })).toEqual([
      text('negative_test_cases.0 calls a tool'),
    ])
  })

  test.each([
    ['{ "tools": { "a": null } }', '"tools", which is not an object of objects'],
    ['{ "test_cases": [null] }', '"test_cases", which is not a list of objects'],
    ['{ "app_info": "a" }', '"app_info", which is not an object'],
  ])('refuses a file of another shape: %s', async (file, problem) => {
    await expect(submitted('openai', good, {}, { [submissionPath]: file })).rejects.toThrow(problem)
  })

  test('finds each mistake, with its place and its fix, and nothing else', async () => {
    const before = {
      [submissionPath]: JSON.stringify({
        app_info: { subtitle: 's'.repeat(31), category: 'WEATHER' },
        test_cases: [{ tools_triggered: 'both, gone' }],
        negative_test_cases: [],
      }),
    }
    const { findings } = await submitted('openai', bad, { url: 'https://mcp.example.com/mcp?token=1' }, before)
    const tool = (name: string) => `'${name}'`
    const served = 'const worker = serve(server, {'
    const [three, output, others] = [
      findings.filter(({ rule }) => rule === 'three-hints'),
      findings.filter(({ rule }) => rule === 'output-schema'),
      findings.filter(({ rule }) => rule !== 'three-hints' && rule !== 'output-schema'),
    ]
    expect(three).toHaveLength(13)
    expect(three[0]?.problem).toContain('does not declare openWorldHint, destructiveHint')
    expect(output).toHaveLength(13)
    expect(shortly(others, bad)).toEqual([
      ['tool-name', 'error', `'${'n'.repeat(29)}`],
      ['tool-characters', 'error', tool('town.list')],
      ['tool-description', 'error', tool('no_description')],
      ['contradicting-hints', 'error', tool('both')],
      ['hidden-characters', 'error', tool('hides')],
      ['app-visibility', 'error', tool('app_hidden')],
      ['app-document', 'error', tool('app_unknown')],
      ['app-csp', 'error', served],
      ['static-token', 'error', served],
      ['token-in-url', 'error', served],
      ['app-info', 'error', ''],
      ['app-info', 'error', ''],
      ['app-info', 'error', ''],
      ['test-cases', 'error', ''],
      ['test-cases', 'error', ''],
      ['app-csp-wildcard', 'hint', served],
      ['app-domain', 'hint', served],
      ['skills-listed', 'hint', served],
      ['openai-challenge', 'hint', served],
      ['to-fill-in', 'hint', ''],
    ])
    expect(others.filter(({ rule }) => /app-info|test-cases/.test(rule)).map(({ problem }) => problem)).toEqual([
      text('subtitle has 31 characters: the form takes 30'),
      text('description has 4001 characters: the form takes 4,000'),
      text('no category "WEATHER"'),
      text('the tool "gone", which the server does not have'),
      text('There are 1 tests, and 0'),
    ])
    expect(fixes(findings)).toMatchObject({
      'three-hints': text('Declare each as true or false'),
      'output-schema': text('Declare outputSchema'),
      'tool-characters': text('letters, digits, "_" and "-"'),
      'app-csp': text('csp: { connectDomains: [], resourceDomains: [] }'),
      'app-csp-wildcard': text('each origin'),
      'app-domain': text("domain: 'https://app.example.com'"),
      'skills-listed': text('skills(mySkills)'),
      'openai-challenge': text('openAiChallenge: env.OPENAI_CHALLENGE'),
      'app-info': text('Write one of BUSINESS'),
      'test-cases': text('test_cases and negative_test_cases'),
    })
  })
})

test.each([
  ['anthropic', 'static-token'],
  ['openai', 'openai-challenge'],
  ['registry', 'registry-auth'],
])('edgemcp submit %s is not misled by a page that answers all paths (%s)', async (directory, rule) => {
  const files = project(
    `import { createServer, serve } from 'edgemcp'
import { apiKeys } from 'edgemcp/api-keys'
import { combine } from 'edgemcp/compose'
const worker = serve(createServer({ name: 'weather', version: '1.2.0', description: 'Forecasts' }), { auth: apiKeys() })
const page = () => new Response('<p>Home</p>', { headers: { 'Content-Type': 'text/html' } })
export default combine(worker, page)
export const { McpApiKeys } = worker
`,
    '[[migrations]]\ntag = "v1"\nnew_sqlite_classes = ["McpApiKeys"]\n',
  )
  const said = { name: 'com.example/weather', url: 'https://mcp.example.com/mcp' }
  expect((await submitted(directory, files, said)).findings.map((one) => one.rule)).toContain(rule)
})

describe('edgemcp submit for tenants that have paths, which discovery() refuses', () => {
  const files = (served: string) =>
    project(`import { createServer, serve } from 'edgemcp'
import { bearer, tenants } from 'edgemcp/auth'
import { combine } from 'edgemcp/compose'
const found = { auth: bearer({ issuer: 'https://auth.example.com' }) }
const worker = serve(createServer({ name: 'weather', version: '1.2.0', description: '${'d'.repeat(101)}' }), {
  tenants: tenants('/{tenant}/mcp', () => found),
})
const proofs = new Map([
  ['${paths.openAiChallenge}', 'token'],
  ['${paths.registryAuth}', 'v=MCPv1; k=ed25519; p=${'A'.repeat(43)}='],
])
function proof(request: Request) {
  const text = proofs.get(new URL(request.url).pathname)
  return text === undefined ? undefined : new Response(text, { headers: { 'Content-Type': 'text/plain' } })
}
export default ${served}
`)
  const before = { repository: { url: 'https://codeberg.org/a/b', source: 'codeberg' } }
  const written = { 'submission/registry/server.json': JSON.stringify(before) }

  test('names no option of discovery() as a fix', async () => {
    const without = files('worker')
    const found: Finding[] = []
    for (const directory of directories.keys()) {
      const { findings } = await submitted(directory, without, {}, written)
      found.push(...findings)
    }
    found.push(...(await submitted('registry', without, { name: 'com.example/weather' })).findings)
    expect(found.filter(({ fix }) => fix.includes('discovery('))).toEqual([])
    expect(fixes(found)).toMatchObject({
      'registry-name': 'Pass --name com.example/weather.',
      'registry-description': "Write one of at most 100 characters: createServer({ description: '…' }).",
      'registry-repository': text("repository: { url: 'https://github.com/example/weather'"),
      'registry-auth': text('with combine() of edgemcp/compose, if this Worker serves example.com'),
      'openai-challenge': text('with combine() of edgemcp/compose. A parent domain may serve it instead'),
    })
    expect(found.filter(({ rule }) => rule === 'endpoint-url').map(({ fix }) => fix)).toEqual([
      text('the URL of one tenant with --url'),
      text('the URL of one tenant with --url'),
      text('--url https://mcp.example.com/{tenant}/mcp'),
      text('the URL of one tenant with --url'),
      text('--url https://mcp.example.com/{tenant}/mcp'),
    ])
  })

  test('takes proofs that a handler beside the server serves', async () => {
    const said = { name: 'com.example/weather', url: 'https://mcp.example.com/{tenant}/mcp' }
    for (const [directory, rule] of [
      ['registry', 'registry-auth'],
      ['openai', 'openai-challenge'],
    ] as const) {
      const rules = async (served: string) =>
        (await submitted(directory, files(served), said)).findings.map((one) => one.rule)
      expect(await rules('combine(worker, proof)')).not.toContain(rule)
      expect(await rules('worker')).toContain(rule)
    }
  })
})

test('edgemcp submit knows nothing of the sign-in of tenants that have hosts', async () => {
  const files = project(`import { createServer, serve } from 'edgemcp'
import { bearer, tenants } from 'edgemcp/auth'
const find = (tenant: string) => (tenant === 'acme' ? { auth: bearer({ issuer: 'https://auth.example.com' }) } : undefined)
export default serve(createServer({ name: 'weather', version: '1.2.0' }), { tenants: tenants('{tenant}.example.com', find) })
`)
  for (const url of ['https://acme.example.com/mcp', 'https://mcp.example.net/mcp']) {
    expect((await submitted('anthropic', files, { url })).findings).toEqual([])
  }
})

describe('edgemcp submit microsoft', () => {
  test('writes its own runtime, and keeps another', async () => {
    const other = { type: 'OpenApi', auth: { type: 'None' }, spec: { url: 'openapi.json' } }
    const before = { 'submission/microsoft/ai-plugin.json': JSON.stringify({ runtimes: [other] }) }
    const { texts } = await submitted('microsoft', good, {}, before)
    expect(json(texts['ai-plugin.json']).runtimes).toMatchObject([other, { type: 'RemoteMCPServer' }])
    const again = { 'submission/microsoft/ai-plugin.json': texts['ai-plugin.json'] ?? '' }
    expect((await submitted('microsoft', good, {}, again)).texts).toEqual(texts)
  })

  test('writes the manifest, keeps the id of the credential, and has no finding then', async () => {
    const { findings, texts } = await submitted('microsoft', good)
    expect(findings).toMatchObject([{ rule: 'to-fill-in', level: 'hint', file: 'submission/microsoft/ai-plugin.json' }])
    const manifest = json(texts['ai-plugin.json'])
    expect(manifest).toEqual({
      schema_version: 'v2.4',
      name_for_human: 'Weather',
      namespace: 'weather',
      description_for_human: 'Forecasts for every town',
      functions: [],
      runtimes: [
        {
          run_for_functions: ['*'],
          type: 'RemoteMCPServer',
          auth: { type: 'OAuthPluginVault', reference_id: 'TODO: the id of the registered credential' },
          spec: { url: 'https://mcp.example.com/mcp' },
        },
      ],
    })
    manifest.name_for_human = 'By hand'
    manifest.runtimes[0].auth.reference_id = 'abc'
    const before = { 'submission/microsoft/ai-plugin.json': JSON.stringify(manifest) }
    const second = await submitted('microsoft', good, {}, before)
    expect(second.findings).toEqual([])
    expect(json(second.texts['ai-plugin.json'])).toEqual(manifest)
  })

  test('finds each mistake, with its place and its fix, and nothing else', async () => {
    const files = project(`import { createServer, serve } from 'edgemcp'
import { jsonSchema } from 'edgemcp/json-schema'
import * as z from 'zod'
const server = createServer({ name: 'weather', version: '1.2.0', title: 'Weather of all the towns', jsonSchema })
const text = () => 'sunny'
const town = z.object({ name: z.string() }).meta({ id: 'Town' })
server.tool('refers', { description: 'Compares towns', inputSchema: z.object({ from: town, to: town }) }, text)
server.tool('positive', { description: 'Returns days', inputSchema: z.object({ range: z.object({ days: z.int().positive() }) }) }, text)
server.tool('above', { description: 'Returns days', inputSchema: z.object({ degrees: z.number().gt(3) }) }, text)
server.tool('types', { description: 'Returns days', inputSchema: { type: 'object', properties: { town: { type: ['string', 'null'] } } } }, text)
server.tool('choice', { description: 'Returns days', inputSchema: z.object({ unit: z.enum(['metric', 'imperial']).describe('metric, or not') }) }, text)
server.tool('long', { description: 'd'.repeat(1025) }, text)
server.tool('long_argument', { description: 'Returns days', inputSchema: z.object({ town: z.string().describe('d'.repeat(1025)) }) }, text)
server.tool('unused', { description: 'Returns days', inputSchema: { type: 'object', $defs: { a: { $ref: '#/$defs/b' }, b: { type: ['string', 'null'] } } } }, text)
server.tool('fine', { description: 'Returns days', inputSchema: { type: 'object', properties: { $ref: { type: 'string', default: { $ref: 'x' } } } } }, text)
export default serve(server)
`)
    const { findings, statuses } = await submitted('microsoft', files, { url: 'https://mcp.example.com/mcp' })
    expect(shortly(findings, files)).toEqual([
      ['schema-ref', 'error', "'refers'"],
      ['schema-exclusive-minimum', 'error', "'positive'"],
      ['schema-exclusive-minimum', 'error', "'above'"],
      ['schema-type-list', 'error', "'types'"],
      ['description-length', 'error', "'long'"],
      ['description-length', 'error', "'long_argument'"],
      ['schema-enum', 'hint', "'choice'"],
      ['to-fill-in', 'hint', ''],
      ['manifest-text', 'hint', ''],
    ])
    expect(findings.map(({ fix }) => fix)).toEqual([
      text('without .meta({ id })'),
      text('minimum: 1, in zod .min(1) instead of .positive()'),
      text('in zod .min(…) instead of .positive() or .gt(3)'),
      text('make the argument optional'),
      text('Shorten it to 1,024 characters'),
      text('Shorten it to 1,024 characters'),
      text('Name the values in the description'),
      text('TODO:'),
      text('Shorten it in this file'),
    ])
    expect(findings[1]?.problem).toContain('"range.days" of the tool "positive" has exclusiveMinimum: 0')
    expect(statuses).toEqual({ 'ai-plugin.json': 'written' })
    expect((await submitted('microsoft', files)).findings.map(({ rule }) => rule)).toContain('endpoint-url')
    expect((await submitted('microsoft', files)).statuses).toEqual({ 'ai-plugin.json': 'not written' })
  })
})

describe('every rule of every directory', () => {
  const rules = [...directories.values()].flatMap((directory) => directory.rules.map(({ name }) => name))

  test('is broken in a test of this file', () => {
    const source = readFileSync(import.meta.filename, 'utf8')
    expect(rules.filter((name) => !source.includes(`'${name}'`))).toEqual([])
  })

  test('is in docs/reference/cli.md', () => {
    const page = readFileSync(join(root, 'docs/reference/cli.md'), 'utf8').split('## Prepare a submission')[1] ?? ''
    const ofRegistry = ['name', 'description', 'title', 'version', 'website', 'repository', 'icons', 'auth']
    const ofFiles = [
      ...['to-fill-in', 'app-info', 'removed-tool', 'test-cases', 'snapshot', 'manifest-text'],
      ...ofRegistry.map((name) => `registry-${name}`),
    ]
    expect([...rules, ...ofFiles].filter((name) => !page.includes(`| \`${name}\` |`))).toEqual([])
  })
})

describe('edgemcp submit with --tools', () => {
  const checkText = (directory: string, tools: string, ...options: string[]) => {
    const folder = mkdtempSync(join(tmpdir(), 'edgemcp-tools-'))
    writeFileSync(join(folder, 'tools.json'), tools)
    return runHere(['submit', directory, '--tools', 'tools.json', ...options], folder).finally(() =>
      rmSync(folder, { recursive: true }),
    )
  }
  const check = (directory: string, tools: object) => checkText(directory, JSON.stringify(tools, null, 2), '--json')

  test('takes a response of JSON-RPC, after a byte order mark', async () => {
    const response = { jsonrpc: '2.0', id: 1, result: { tools: [{ name: 'a', description: 'Reads' }] } }
    const { stdout } = await checkText('microsoft', `\ufeff${JSON.stringify(response)}`)
    expect(stdout).toBe('No problems found.\n')
  })

  test.each([
    [[null], 'tools[0]'],
    [[{ name: 'a' }, { name: 'b', description: 1 }], 'tools[1]'],
    [[{ name: 'a', inputSchema: null }], 'tools[0]'],
    [[{ name: 'a', annotations: { title: {} } }], 'tools[0]'],
  ])('refuses %j', async (tools, place) => {
    expect(await check('anthropic', tools)).toEqual({
      code: 1,
      stdout: '',
      stderr: text(`${place} is not a tool. It has a name`),
    })
  })

  test('prints names without codes for terminals, and not as findings of their own', async () => {
    const name = 'a\u001b[2J\nerror  file:1  (rule)\u202e'
    const { stdout } = await checkText('anthropic', JSON.stringify([{ name, title: 'A', description: '' }]))
    expect(stdout).toContain('\\u001b[2J\n      error  file:1  (rule)\\u202e')
    expect(stdout).not.toMatch(/\u202e|^error {2}file/m)
    expect(stdout).not.toContain('\u001b')
    expect((await runHere(['submit', 'a\u001b[2J'], root)).stderr).toContain('not "a\\u001b[2J"')
  })

  test('checks a list of tools, with the lines of the file, and writes nothing', async () => {
    const { code, stdout } = await check('anthropic', {
      tools: [
        { name: 'a', title: 'A', description: 'Reads', annotations: { readOnlyHint: true } },
        { name: 'b', description: 'Reads' },
      ],
    })
    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject({
      findings: [
        { rule: 'tool-title', line: 12 },
        { rule: 'tool-hints', line: 12 },
      ],
      files: [],
    })
  })

  test.each(['openai', 'microsoft'])('reports more than 128 tools to %s', async (directory) => {
    const annotations = { readOnlyHint: true, openWorldHint: false, destructiveHint: false }
    const tools = Array.from({ length: 129 }, (_, index) => ({
      name: `tool_${index}`,
      description: 'Reads',
      annotations,
      outputSchema: { type: 'object' },
    }))
    expect(JSON.parse((await check(directory, tools)).stdout).findings).toMatchObject([
      { rule: 'tool-count', level: 'error', problem: 'The server has 129 tools: the model gets 128.' },
    ])
    expect(JSON.parse((await check(directory, tools.slice(1))).stdout).findings).toEqual([])
  })

  test('takes a description for what it says', async () => {
    const tool = (description: string, more = {}) => ({
      title: 'T',
      annotations: { readOnlyHint: true },
      name: 'add_note',
      description,
      ...more,
    })
    const rules = async (...tools: object[]) =>
      JSON.parse((await check('anthropic', tools)).stdout).findings.map(({ rule }: Finding) => rule)
    const search = { name: 'search', title: 'S', description: 'Finds', annotations: { readOnlyHint: true } }
    const noteId = { name: 'note_id', title: 'N', description: 'Returns an id', annotations: { readOnlyHint: true } }
    // A word of the language, an argument, a part of a longer name, an emoji of a region and of a family.
    expect(await rules(tool('Use it after a search. Always returns the user something.'), search)).toEqual([])
    expect(
      await rules(
        tool('Takes note_id', { inputSchema: { type: 'object', properties: { note_id: { type: 'string' } } } }),
        noteId,
      ),
    ).toEqual([])
    expect(await rules(tool('Reads my_note_id and note_ids'), noteId)).toEqual([])
    const signIn = { name: 'sign-in', title: 'S', description: 'Signs in', annotations: { readOnlyHint: true } }
    expect(await rules(tool('Adds a note after the sign-in'), signIn)).toEqual([])
    expect(await rules(tool("Call 'sign-in' before"), signIn)).toEqual(['names-other-tools'])
    expect(
      await rules(
        tool('Adds \u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f} and \u{1f468}\u200d\u{1f469}'),
      ),
    ).toEqual([])
    for (const hidden of ['\u{e0067}', '\u{e0100}', '\u00ad', '\u3164', '\u180e']) {
      expect(await rules(tool(`Adds ${hidden}`))).toEqual(['hidden-characters'])
      expect(await rules(tool('Adds', { annotations: { readOnlyHint: true, title: `A${hidden}` } }))).toEqual([
        'hidden-characters',
      ])
      expect(await rules(tool('Adds', { outputSchema: { type: 'object', title: `A${hidden}` } }))).toEqual([
        'hidden-characters',
      ])
    }
    expect(await rules(tool('Adds \u845b\u{e0100}'))).toEqual([])
    const methods = ['GET', 'DELETE'].map((method) => ({ const: method }))
    const writes = (inputSchema: object) => tool('Adds', { annotations: { destructiveHint: true }, inputSchema })
    expect(await rules(writes({ type: 'object', properties: { method: { anyOf: methods } } }))).toEqual([
      'read-and-write',
    ])
    expect(await rules(writes({ oneOf: methods.map((method) => ({ properties: { method } })) }))).toEqual([
      'read-and-write',
    ])
    expect(await rules(writes({ properties: { method: methods[0], next: methods[1] } }))).toEqual([])
    expect(
      await rules(
        tool('Lists endpoints', { inputSchema: { type: 'object', properties: { method: { enum: ['GET', 'POST'] } } } }),
      ),
    ).toEqual([])
  })
})

describe('edgemcp submit', () => {
  const submit = (...args: string[]) => runHere(['submit', ...args], root)

  test('prints findings and files, and exits with 1 for an error, with wrangler', async () => {
    using written = write(registryGood)
    expect(await submit('registry', written.folder)).toEqual({
      code: 0,
      stdout: `No problems found.\n\nWrote ${relative(root, join(written.folder, 'submission/registry/server.json'))}\n`,
      stderr: '',
    })
    writeFileSync(join(written.folder, main), (registryGood[main] ?? '').replace('1.2.0', 'latest'))
    const { code, stdout } = await submit('registry', written.folder, '--json', '--out', join(written.folder, 'out'))
    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject({
      ok: false,
      findings: [{ rule: 'registry-version', level: 'error', file: main, line: 3 }],
      files: [{ file: relative(root, join(written.folder, 'out/server.json')), status: 'written' }],
    })
  })

  test('requests each host of a Worker, with wrangler', async () => {
    using written = write(byHost)
    expect(await submit('registry', written.folder, '--server', 'weather')).toMatchObject({ code: 0, stderr: '' })
    expect(readFileSync(join(written.folder, 'submission/registry/server.json'), 'utf8')).toContain(
      'weather.example.com',
    )
  })

  test.each([
    [[], 'Give a directory, one of anthropic, openai, registry, microsoft.'],
    [['glama'], 'Give a directory, not "glama": one of anthropic, openai, registry, microsoft.'],
    [['registry', 'a', 'b'], 'Give a directory and a folder: "b" is unexpected.'],
    [['openai', '.', '--tools', 'tools.json'], 'Give --tools, or the folder of a project, not both.'],
    [['openai', '--tools', 'tools.json', '--url', 'a'], 'Give --tools, or --url for a project, not both.'],
    [['registry', '--tools', 'tools.json'], 'The registry takes no tools: give the folder of a project, not --tools.'],
    [
      ['openai', '--tools', 'package.json'],
      'package.json is not a list of tools: give the result of tools/list, { "tools": [{ "name": … }] }.',
    ],
    [['registry', 'nowhere'], 'There is no folder nowhere.'],
  ])('refuses %j', async (args, stderr) => {
    expect(await submit(...args)).toEqual({ code: 1, stdout: '', stderr })
  })

  test('reports why a project does not run, and writes nothing', async () => {
    const { findings, statuses } = await submitted(
      'registry',
      project("export default { fetch: () => new Response('') }\n"),
    )
    expect(findings).toMatchObject([{ rule: 'serve-not-at-top-level', level: 'error' }])
    expect(statuses).toEqual({})
  })

  test.each([
    ['does-not-start', 'no database', "export default serve(server)\nthrow new Error('no database')\n"],
    [
      'does-not-start',
      'discovery() describes one endpoint of each host',
      `import { tenants } from 'edgemcp/auth'
import { discovery } from 'edgemcp/discovery'
const plugins = [discovery({ name: 'com.example/weather' })]
export default serve(server, { plugins, tenants: tenants('/{tenant}/mcp', () => ({})) })
`,
    ],
    ['no-fetch-handler', 'has no fetch handler', 'serve(server)\nexport default {}\n'],
    ['class-missing', 'McpTask', 'export default serve(server)\n'],
  ])(
    'reports %s of a Worker whose declarations it has read, and nothing that follows: %s',
    async (rule, problem, end) => {
      const code = `import { createServer, serve } from 'edgemcp'
const server = createServer({ name: 'weather', version: 'latest' })
server.tool('forecast', { description: 'Reads' }, () => 'sunny')
${end}`
      const files = project(
        code,
        rule === 'class-missing' ? '[[migrations]]\ntag = "v1"\nnew_sqlite_classes = ["McpTask"]\n' : '',
      )
      for (const directory of directories.keys()) {
        const { findings, statuses } = await submitted(directory, files)
        expect(findings).toMatchObject([{ rule, level: 'error', problem: text(problem) }])
        expect(statuses).toEqual({})
      }
    },
  )

  test('asks which of several servers to submit', async () => {
    const files = project(`import { createServer, serve } from 'edgemcp'
import { combine } from 'edgemcp/compose'
const [notes, admin] = [createServer({ name: 'notes', version: '1.0.0' }), createServer({ name: 'admin', version: 'latest' })]
export default combine(serve(notes), serve(admin, { path: '/admin/mcp' }))
`)
    await expect(submitted('registry', files)).rejects.toThrow('several servers: choose one, as in --server notes')
    await expect(submitted('registry', files, { server: 'x' })).rejects.toThrow('no server "x": it has notes, admin.')
    const rules = async (server: string) =>
      (await submitted('registry', files, { server })).findings.map(({ rule }) => rule)
    expect(await rules('admin')).toContain('registry-version')
    expect(await rules('notes')).not.toContain('registry-version')
  })

  test('refuses a file of an earlier run that is not JSON', async () => {
    const before = { 'submission/registry/server.json': '{ "name": ' }
    await expect(submitted('registry', registryGood, {}, before)).rejects.toThrow(
      /submission\/registry\/server\.json is not a JSON object: correct it, or remove it/,
    )
  })
})
