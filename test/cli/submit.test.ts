import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Finding } from '../../cli/doctor/finding.ts'
import { type Wrangler, wranglerOf } from '../../cli/doctor/wrangler.ts'
import { type SubmitOptions, submitProject } from '../../cli/submit/submit.ts'
import { type Files, write } from './good-project.ts'
import { quickBundle } from './quick-bundle.ts'
import { quickRun } from './quick-run.ts'
import { runHere } from './run-here.ts'

const root = resolve(import.meta.dirname, '../..')
const main = 'src/index.ts'

/** Builds and runs a project in this process, as the tests of doctor do. */
const quickWrangler = (folder: string): Wrangler => {
  const wrangler = wranglerOf(folder)
  return {
    ...wrangler,
    bundle: async (file, date) =>
      (await quickBundle(folder, wrangler.readConfig(file).main ?? '')) ?? (await wrangler.bundle(file, date)),
    run: async (file, vars, pathsOf) =>
      (await quickRun(folder, file, vars, wrangler, pathsOf)) ?? (await wrangler.run(file, vars, pathsOf)),
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
  const { findings, files: report } = await submitProject(directory, written.folder, options, quickWrangler)
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
      ['registry-name', 'error', served, text('"weather/of/towns"'), text('com.example/weather')],
      ['endpoint-url', 'error', served, text('does not begin with https://'), text('--url')],
      ['token-in-url', 'error', served, text('credential in "api_key"'), text('OAuth')],
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

  test.each([
    [[], 'Give a directory, one of registry.'],
    [['glama'], 'Give a directory, not "glama": one of registry.'],
    [['registry', 'a', 'b'], 'Give a directory and a folder: "b" is unexpected.'],
    [['registry', '.', '--tools', 'tools.json'], 'Give --tools, or the folder of a project, not both.'],
    [
      ['registry', '--tools', 'package.json'],
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
