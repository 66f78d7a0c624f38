import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ownSpec } from '../../cli/own-package.ts'
import { runHere } from './run-here.ts'

const root = resolve(import.meta.dirname, '../..')
let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'edgemcp-init-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

type Ended = { code: number; said: string; complained: string }

/** Runs the command without a terminal, in a folder with nothing in it. */
async function edgemcp(...args: string[]): Promise<Ended> {
  const { code, stdout, stderr } = await runHere(args, folder)
  return { code, said: stdout, complained: stderr }
}

const written = (path: string) => readFileSync(join(folder, path), 'utf8')

test('init creates a project without questions, and prints the next steps', async () => {
  const { code, said } = await edgemcp('init', 'Zeit & Geld', '--template', 'notes')
  expect(code).toBe(0)
  expect(said).toBe(
    'Created Zeit & Geld from the template notes. Next:\n\n  cd "Zeit & Geld"\n  npm install\n  npm test\n  npm run dev\n',
  )
  expect(readdirSync(join(folder, 'Zeit & Geld')).sort()).toEqual([
    '.gitignore',
    'AGENTS.md',
    'README.md',
    'migrations',
    'package.json',
    'src',
    'test',
    'tsconfig.json',
    'worker-configuration.d.ts',
    'wrangler.toml',
  ])
  expect(written('Zeit & Geld/wrangler.toml')).toContain('name = "zeit-geld"')
  expect(written('Zeit & Geld/src/index.ts')).toContain("createServer({ name: 'zeit-geld', version: '1.0.0'")
})

test.each([
  ['npm create edgemcp made -- --template notes', ['made', '--template', 'notes']],
  ['npx create-edgemcp made -- --template notes', ['made', '--', '--template', 'notes']],
  ['npx create-edgemcp -- made --template notes', ['--', 'made', '--template', 'notes']],
  ['npx create-edgemcp --template notes -- made', ['--template', 'notes', '--', 'made']],
])('options are read on both sides of --, as package managers pass it on: %s', async (_, args) => {
  expect(await edgemcp('init', ...args)).toMatchObject({ code: 0, complained: '' })
  expect(written('made/README.md')).toContain('notes')
})

test.each([
  ['20.19.0', true],
  ['22.11.0', true],
  ['22.12.0', false],
  ['24.0.0', false],
])('under Node.js %s the next steps mention the version that they need: %s', async (version, isMentioned) => {
  const code = `Object.defineProperty(process.versions, 'node', { value: '${version}' })`
  const pretending = ['--import', `data:text/javascript,${encodeURIComponent(code)}`]
  const said = await new Promise<string>((resolve) => {
    const program = [...pretending, join(root, 'cli/index.ts'), 'init', 'made']
    execFile(process.execPath, program, { cwd: folder }, (_, out) => resolve(out))
  })
  expect(said).toContain('Created made')
  expect(said.includes(`need Node.js 22.12 or newer; this is Node.js ${version}`)).toBe(isMentioned)
})

test('init --yes needs no other arguments', async () => {
  expect((await edgemcp('init', '--yes')).code).toBe(0)
  expect(written('my-mcp-server/src/index.ts')).toContain('greet')
})

test('the project has the versions of dependencies that this package is tested with', async () => {
  await edgemcp('init', 'hello')
  const own = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const { dependencies, devDependencies } = JSON.parse(written('hello/package.json'))
  expect(dependencies).toEqual({ edgemcp: own.version, zod: own.devDependencies.zod })
  for (const [name, version] of Object.entries(devDependencies)) expect(version).toBe(own.devDependencies[name])
})

test.each([
  ['its version', 'https://packages.example/edgemcp/-/edgemcp-1.2.3.tgz', '1.2.3'],
  ['its tarball', 'file:../edgemcp-1.2.3.tgz', (at: string) => `file:${join(at, '../edgemcp-1.2.3.tgz')}`],
  ['its repository', 'git+ssh://git@host.example/edgemcp.git#main', 'git+ssh://git@host.example/edgemcp.git#main'],
  ['its version without a note of npm', undefined, '1.2.3'],
])('the project depends on the package that wrote it: %s', (_, resolved, spec) => {
  const own = join(folder, 'node_modules/edgemcp')
  mkdirSync(own, { recursive: true })
  writeFileSync(join(own, 'package.json'), '{"version":"1.2.3"}')
  const packages = resolved === undefined ? {} : { 'node_modules/edgemcp': { version: '1.2.3', resolved } }
  writeFileSync(join(folder, 'node_modules/.package-lock.json'), JSON.stringify({ packages }))
  expect(ownSpec(own)).toBe(typeof spec === 'function' ? spec(folder) : spec)
})

test('the project has the instructions for coding agents, without those for this package', async () => {
  await edgemcp('init', 'hello')
  const agents = written('hello/AGENTS.md')
  expect(agents).toContain('# Instructions for coding agents')
  expect(agents).not.toContain('npm run docs')
})

test('init accepts the current folder and an empty repository', async () => {
  mkdirSync(join(folder, '.git'))
  const { code, said } = await edgemcp('init', '.')
  expect(code).toBe(0)
  expect(said).not.toContain('cd ')
  expect(readdirSync(folder)).toContain('wrangler.toml')
})

test('init overwrites no files', async () => {
  mkdirSync(join(folder, 'mine'))
  writeFileSync(join(folder, 'mine/README.md'), 'mine')
  writeFileSync(join(folder, 'file'), 'mine')
  expect(await edgemcp('init', 'mine')).toMatchObject({
    code: 1,
    complained:
      'mine is not empty (README.md), and init overwrites nothing: ' +
      'choose a new folder, as in npx edgemcp init my-mcp-server, or empty this one first.',
  })
  expect(await edgemcp('init', 'file')).toMatchObject({
    code: 1,
    complained: 'file is a file: choose another name for the folder.',
  })
  for (const below of ['file/sub', 'file/a/b']) {
    expect(await edgemcp('init', below, '--yes')).toMatchObject({
      code: 1,
      complained: `file is a file, so ${below} cannot be inside it: choose another folder.`,
    })
  }
  expect([readdirSync(join(folder, 'mine')), written('mine/README.md'), written('file')]).toEqual([
    ['README.md'],
    'mine',
    'mine',
  ])
})

test.each<[string, string[], string]>([
  [
    'an unknown template',
    ['init', 'a', '--template', 'nots'],
    'Unknown template "nots": use one of hello, notes, team, sign-in, gateway, jobs, events.',
  ],
  ['an unknown command', ['deploy'], 'Unknown command "deploy": use init, doctor, openapi, skills, submit or events.'],
  ['an option of another command', ['init', 'a', '--json'], 'init has no option --json: run npx edgemcp --help.'],
  ['two folders', ['init', 'a', 'b'], 'Give one folder: "b" is unexpected.'],
])('%s is refused with an error message', async (_, args, sentence) => {
  expect(await edgemcp(...args)).toMatchObject({ code: 1, complained: sentence })
  expect(readdirSync(folder)).toEqual([])
})

/** `script` of util-linux gives a command a terminal. */
const terminal = '/usr/bin/script'

/** @param typed what is answered to each question, by the words before it */
function atTerminal(command: string, typed: readonly (readonly [question: string, answer: string])[]): Promise<Ended> {
  const { promise, resolve: end } = Promise.withResolvers<Ended>()
  const started = spawn(
    terminal,
    ['-qec', `"${process.execPath}" "${join(root, 'cli/index.ts')}" ${command}`, '/dev/null'],
    {
      cwd: folder,
    },
  )
  let said = ''
  let seen = 0
  const waiting = [...typed]
  started.stdout.on('data', (chunk) => {
    said += chunk
    for (let next = waiting[0]; next && said.includes(next[0], seen); next = waiting[0]) {
      seen = said.length
      started.stdin.write(next[1])
      waiting.shift()
    }
  })
  started.on('close', (code) => end({ code: code ?? -1, said, complained: '' }))
  return promise
}

describe.runIf(process.platform === 'linux' && existsSync(terminal))('at a terminal', () => {
  test('init asks two questions, and repeats one that is answered with an unknown template', async () => {
    const { code, said } = await atTerminal('init', [
      ['Folder (my-mcp-server): ', 'tea\n'],
      ['Template (hello): ', 'nothing\n'],
      ['Template (hello): ', 'notes\n'],
    ])
    expect(said).toContain('"nothing" is not a template: type hello, notes, team, sign-in, gateway, jobs, events.')
    expect(said).toContain('Created tea from the template notes.')
    expect(code).toBe(0)
    expect(written('tea/src/notes.ts')).toContain('export')
  })

  test('init does not ask for values of its arguments', async () => {
    const { code, said } = await atTerminal('init tea', [['Template (hello): ', '\n']])
    expect([code, said.includes('Folder')]).toEqual([0, false])
    expect(said).toContain('Created tea from the template hello.')
  })

  test.each([
    ['Ctrl+C', '\x03'],
    ['Ctrl+D', '\x04'],
  ])('%s writes nothing', async (_, key) => {
    const { code, said } = await atTerminal('init', [
      ['Folder (my-mcp-server): ', 'tea\n'],
      ['Template (hello): ', key],
    ])
    expect(said).toContain('Nothing was written.')
    expect(code).toBe(1)
    expect(readdirSync(folder)).toEqual([])
  })
})

test('--help and --version print the help and the version', async () => {
  expect((await edgemcp()).said).toContain('npx edgemcp init [folder]')
  expect((await edgemcp('--version')).said).toMatch(/^\d+\.\d+\.\d+\n$/)
})

test('create-edgemcp has the version of edgemcp and depends on it', () => {
  const read = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'))
  const { version } = read('package.json')
  expect(read('create-edgemcp/package.json')).toMatchObject({ version, dependencies: { edgemcp: version } })
})
