import { execFile } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pageAt } from '../docs/pages.ts'

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '../..')
const bin = (name: string) => join(root, 'node_modules', name)
const project = mkdtempSync(join(tmpdir(), 'edgemcp-package-'))
const install = ['install', '--prefer-offline', '--no-audit', '--no-fund']
let packed: string

beforeAll(async () => {
  packed = await pack(root)
  writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'consumer', private: true, type: 'module' }))
  await run('npm', [...install, packed, await pack(join(root, 'create-edgemcp'))], { cwd: project })
})

/** The file that would be published. */
async function pack(folder: string): Promise<string> {
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', project], { cwd: folder })
  const [{ filename }] = JSON.parse(stdout.slice(stdout.indexOf('[')))
  return join(project, filename)
}

/** Lets the project import what the repository has installed. */
function link(name: string): void {
  const place = join(project, 'node_modules', name)
  mkdirSync(dirname(place), { recursive: true })
  if (!existsSync(place)) symlinkSync(bin(name), place)
}

afterAll(() => rmSync(project, { recursive: true, force: true }))

const server = `
import { createServer, serve } from 'edgemcp'
import { jsonSchema } from 'edgemcp/json-schema'
import { sessions } from 'edgemcp/sessions'

const server = createServer({ name: 'consumer', version: '1.0.0', jsonSchema })
server.tool(
  'double',
  {
    description: 'Doubles',
    inputSchema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
    outputSchema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
  },
  ({ n }) => ({ n: n * 2 }),
)
const worker = serve(server, { plugins: [sessions()] })
export default worker
export const { McpSession } = worker
`

test('the package contains only the needed files', () => {
  const installed = join(project, 'node_modules/edgemcp')
  const { exports, dependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
  for (const { types, default: code } of Object.values(exports) as { types: string; default: string }[]) {
    expect(existsSync(join(installed, types)), types).toBe(true)
    expect(existsSync(join(installed, code)), code).toBe(true)
  }
  for (const file of ['README.md', 'LICENSE', 'AGENTS.md', 'CHANGELOG.md']) {
    expect(existsSync(join(installed, file)), file).toBe(true)
  }
  for (const file of ['test', 'examples', 'scripts', 'worker']) expect(existsSync(join(installed, file))).toBe(false)
  expect(Object.keys(dependencies)).not.toContain('@modelcontextprotocol/sdk')
})

test('the package has JavaScript that needs no source map, and its manifest names the repository', () => {
  const installed = join(project, 'node_modules/edgemcp')
  const files = readdirSync(installed, { recursive: true, encoding: 'utf8' })
  expect(files.filter((file) => file.endsWith('.map'))).toEqual([])
  expect(readFileSync(join(installed, 'dist/worker/serve.js'), 'utf8')).not.toContain('sourceMappingURL')
  const { repository, homepage, bugs } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
  expect([repository.url, homepage, bugs]).toEqual([
    expect.stringMatching(/^git\+https:.*\.git$/),
    expect.stringMatching(/^https:/),
    expect.stringMatching(/^https:.*issues$/),
  ])
})

test('a project with TypeScript compiles against the package', async () => {
  mkdirSync(join(project, 'src'), { recursive: true })
  writeFileSync(join(project, 'src/index.ts'), server)
  writeFileSync(
    join(project, 'src/client.ts'),
    `import { connect, everyRevision } from 'edgemcp/testing'
     export const newest: Promise<string> = connect('http://localhost/mcp', { revision: everyRevision[0] as string })
       .then((client) => client.revision)`,
  )
  const { blocks = [] } = pageAt('docs/start/first-server.md') ?? {}
  const [page = '', tsconfig = ''] = ['ts', 'json'].map(
    (language) => blocks.find((block) => block.language === language)?.code,
  )
  writeFileSync(join(project, 'src/page.ts'), page)
  link('zod')
  const { compilerOptions, include } = JSON.parse(tsconfig)
  expect([compilerOptions.types, include]).toEqual([['@cloudflare/workers-types'], ['index.ts']])
  // The packages of this project are links to those of the repository.
  const types = [bin('@cloudflare/workers-types')]
  writeFileSync(
    join(project, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: { ...compilerOptions, types }, include: ['src'] }),
  )
  await run(process.execPath, [bin('typescript/bin/tsc'), '-p', project])
})

test('the project writes declarations of every export of the examples with the options of tsc --init', async () => {
  const folder = join(project, 'declared')
  mkdirSync(folder)
  cpSync(join(root, 'examples'), join(folder, 'src/examples'), {
    recursive: true,
    // This project has neither the packages of an authorization server nor those of an OAuth provider.
    filter: (path) => !/\/(auth-server|oauth-provider)$/.test(path),
  })
  writeFileSync(join(folder, 'src/index.ts'), server)
  writeFileSync(
    join(folder, 'src/extended.ts'),
    `import { createServer, serve } from 'edgemcp'
     import { sessions } from 'edgemcp/sessions'
     import { subscriptions } from 'edgemcp/subscriptions'
     import { tasks } from 'edgemcp/tasks'
     const server = createServer({ name: 'extended', version: '1.0.0' })
     const worker = serve(server, { plugins: [sessions(), subscriptions(), tasks()] })
     export const served = worker
     export class McpSession extends worker.McpSession {}
     export class McpSubscriptions extends worker.McpSubscriptions {}
     export class McpTask extends worker.McpTask {}`,
  )
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'declared', private: true, type: 'module' }))
  link('zod')
  link('@cloudflare/workers-oauth-provider')
  const tsc = (...args: string[]) => run(process.execPath, [bin('typescript/bin/tsc'), ...args], { cwd: folder })
  await tsc('--init')
  expect(readFileSync(join(folder, 'tsconfig.json'), 'utf8')).toMatch(/^ *"declaration": true/m)
  const types = ['--types', bin('@cloudflare/workers-types')]
  // The examples import one another's files as .ts.
  await tsc('-p', '.', '--rootDir', 'src', '--outDir', 'out', '--rewriteRelativeImportExtensions', ...types)
  const written = readFileSync(join(folder, 'out/index.d.ts'), 'utf8')
  expect(written).toContain('McpSession: import("edgemcp/sessions").SessionClass')
})

test('wrangler bundles the project for deployment', async () => {
  writeFileSync(
    join(project, 'wrangler.toml'),
    readFileSync(join(root, 'examples/hello/wrangler.toml'), 'utf8').replace('index.ts', 'src/index.ts'),
  )
  const wrangler = [bin('wrangler/bin/wrangler.js'), 'deploy', '--dry-run', '--outdir', 'out']
  const env = { ...process.env, WRANGLER_LOG: 'log', WRANGLER_SEND_METRICS: 'false' }
  const { stdout } = await run(process.execPath, wrangler, { cwd: project, env })
  expect(stdout).toContain('Total Upload')
  expect(readFileSync(join(project, 'out/index.js'), 'utf8')).toContain('Doubles')
})

test('the project can run the command line', async () => {
  cpSync(join(root, 'test/openapi/pets.json'), join(project, 'pets.json'))
  await run(join(project, 'node_modules/.bin/edgemcp'), ['openapi', 'pets.json', '--out', 'src/pets.ts'], {
    cwd: project,
  })
  expect(readFileSync(join(project, 'src/pets.ts'), 'utf8')).toContain('export const pets: readonly Operation[] = [')
  await run(process.execPath, [bin('typescript/bin/tsc'), '-p', project])
})

test('the project runs tests with edgemcp/testing in Node.js', async () => {
  for (const folder of ['examples', 'test/testing/outside', 'test/testing/orders']) {
    cpSync(join(root, folder), join(project, folder), { recursive: true })
  }
  link('wrangler')
  link('zod')
  const suites = [
    { name: 'confirm', tests: 4 },
    { name: 'orders', tests: 1 },
    { name: 'protected', tests: 1 },
    { name: 'report', tests: 1 },
  ]
  const files = suites.map(({ name }) => `test/testing/outside/${name}.test.ts`)
  const passed = suites.reduce((sum, { tests }) => sum + tests, 0)
  const { NODE_ENV: _, VITEST: __, ...env } = process.env
  // One process for all files, because each would load wrangler.
  const options = ['--test', '--test-isolation', 'none', '--test-reporter', 'tap']
  const { stdout } = await run(process.execPath, [...options, ...files], { cwd: project, env })
  expect(stdout).toContain(`# pass ${passed}\n# fail 0\n`)
})

describe('a new project', () => {
  const templates = [
    { template: 'team', dashes: ['--'] },
    { template: 'hello', dashes: ['--'] },
    { template: 'notes', dashes: [] },
    { template: 'sign-in', dashes: ['--'] },
    { template: 'gateway', dashes: ['--'] },
    { template: 'jobs', dashes: ['--'] },
    { template: 'events', dashes: ['--'] },
  ]
  const installed = 'team'

  test.each(templates)(
    'of the template $template compiles, passes its tests and can be deployed',
    async ({ template, dashes }) => {
      const folder = join(project, template)
      // npm create runs edgemcp init, and takes the first -- away. npx passes it on.
      const create = ['--no-install', 'create-edgemcp', template, ...dashes, '--template', template]
      await run('npx', create, { cwd: project })
      const written = readFileSync(join(folder, 'package.json'), 'utf8')
      writeFileSync(join(folder, 'package.json'), written.replace(/"edgemcp": ".*?"/, `"edgemcp": "file:${packed}"`))
      // The first has all that the others need, and an installation takes its time.
      if (template === installed) await run('npm', install, { cwd: folder })
      else symlinkSync(join(project, installed, 'node_modules'), join(folder, 'node_modules'))

      const env = { ...process.env, WRANGLER_LOG: 'log', WRANGLER_SEND_METRICS: 'false', NODE_ENV: undefined }
      const npm = (...args: string[]) => run('npm', args, { cwd: folder, env })
      await npm('run', 'check')
      expect((await npm('test')).stdout).toMatch(/Tests.*passed/)
      // It builds the project with `wrangler deploy --dry-run`.
      const doctor = await run('node_modules/.bin/edgemcp', ['doctor'], { cwd: folder, env })
      expect(doctor.stdout).toBe('No problems found.\n')
      if (template !== installed) return
      const deployed = await run('node_modules/.bin/wrangler', ['deploy', '--dry-run'], { cwd: folder, env })
      expect(deployed.stdout).toContain('--dry-run: exiting now.')
    },
    300_000,
  )
})
