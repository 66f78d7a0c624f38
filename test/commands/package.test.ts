import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

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

afterAll(() => rmSync(project, { recursive: true, force: true }))

const server = `
import { createServer, serve } from 'edgemcp'
import { jsonSchema } from 'edgemcp/json-schema'

const server = createServer({ name: 'consumer', version: '1.0.0', jsonSchema })
server.tool(
  'double',
  {
    description: 'Doubles',
    input: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
    output: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
  },
  ({ n }) => ({ n: n * 2 }),
)
const worker = serve(server)
export default worker
export const { McpSession, McpUpdates } = worker
`

test('the package holds what is needed, and nothing else', () => {
  const installed = join(project, 'node_modules/edgemcp')
  const { exports, dependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
  for (const { types, default: code } of Object.values(exports) as { types: string; default: string }[]) {
    expect(existsSync(join(installed, types)), types).toBe(true)
    expect(existsSync(join(installed, code)), code).toBe(true)
  }
  for (const file of ['README.md', 'LICENSE', 'CHANGELOG.md']) expect(existsSync(join(installed, file))).toBe(true)
  for (const file of ['test', 'examples', 'scripts', 'worker']) expect(existsSync(join(installed, file))).toBe(false)
  expect(Object.keys(dependencies)).not.toContain('@modelcontextprotocol/sdk')
})

test('a project of its own compiles against it', async () => {
  mkdirSync(join(project, 'src'), { recursive: true })
  writeFileSync(join(project, 'src/index.ts'), server)
  writeFileSync(
    join(project, 'src/client.ts'),
    `import { connect, everyRevision } from 'edgemcp/testing'
     export const newest: Promise<string> = connect('http://localhost/mcp', { revision: everyRevision[0] as string })
       .then((client) => client.revision)`,
  )
  writeFileSync(
    join(project, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: {
        target: 'es2024',
        lib: ['esnext'],
        module: 'esnext',
        moduleResolution: 'bundler',
        strict: true,
        noEmit: true,
        types: [bin('@cloudflare/workers-types')],
      },
      include: ['src'],
    }),
  )
  await run(process.execPath, [bin('typescript/bin/tsc'), '-p', project])
})

test('and deploys', async () => {
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

test('and has the command line, with what that shares with Workers', async () => {
  cpSync(join(root, 'test/openapi/pets.json'), join(project, 'pets.json'))
  await run(join(project, 'node_modules/.bin/edgemcp'), ['openapi', 'pets.json', '--out', 'src/pets.ts'], {
    cwd: project,
  })
  expect(readFileSync(join(project, 'src/pets.ts'), 'utf8')).toContain('export const pets: readonly Operation[] = [')
  await run(process.execPath, [bin('typescript/bin/tsc'), '-p', project])
})

test('and is tested, in plain Node, with what the package has for that', async () => {
  for (const folder of ['examples', 'test/testing/outside']) {
    cpSync(join(root, folder), join(project, folder), { recursive: true })
  }
  for (const name of ['wrangler', 'zod']) symlinkSync(bin(name), join(project, 'node_modules', name))
  const tests = ['confirm', 'protected', 'report'].map((name) => `test/testing/outside/${name}.test.ts`)
  const { NODE_ENV: _, VITEST: __, ...env } = process.env
  const { stdout } = await run(process.execPath, ['--test', '--test-reporter', 'tap', ...tests], { cwd: project, env })
  expect(stdout).toContain('# pass 6\n# fail 0\n')
})

describe('a new project', () => {
  const templates = ['protected', 'hello', 'notes']
  const [installed] = templates

  test.each(templates)(
    '%s is tested, typed and deployed as it is made',
    async (template) => {
      const folder = join(project, template)
      // What npm create runs is edgemcp init.
      const create = join(project, 'node_modules/create-edgemcp/index.js')
      await run(process.execPath, [create, template, '--template', template], { cwd: project })
      const written = readFileSync(join(folder, 'package.json'), 'utf8')
      writeFileSync(join(folder, 'package.json'), written.replace(/"edgemcp": ".*?"/, `"edgemcp": "file:${packed}"`))
      // The first has all that the others need, and an installation takes its time.
      if (template === installed) await run('npm', install, { cwd: folder })
      else symlinkSync(join(project, installed as string, 'node_modules'), join(folder, 'node_modules'))

      const env = { ...process.env, WRANGLER_LOG: 'log', WRANGLER_SEND_METRICS: 'false', NODE_ENV: undefined }
      const npm = (...args: string[]) => run('npm', args, { cwd: folder, env })
      await npm('run', 'check')
      expect((await npm('test')).stdout).toMatch(/Tests.*passed/)
      const doctor = await run('node_modules/.bin/edgemcp', ['doctor'], { cwd: folder, env })
      expect(doctor.stdout).toBe('Nothing is wrong with it.\n')
      expect((await npm('run', 'deploy', '--', '--dry-run')).stdout).toContain('--dry-run: exiting now.')
    },
    180_000,
  )
})
