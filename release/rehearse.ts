/**
 * Rehearses a release: `npm run rehearse`. In a clone of what is committed, it raises the version by the changesets, publishes both packages to a
 * registry on this machine, and then does what a new user does, in an empty folder and with an empty cache of npm: `npm create edgemcp`,
 * `npm install`, `npm test`, `npm run check` and `wrangler deploy --dry-run`. It prints how long each step takes. Exits with 1 if one fails.
 *
 * `--templates <names>`: the templates of the new projects, `sign-in,team` by default. `--times <n>`: how often, once by default.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { Folder } from '../bench/folder.ts'
import { install } from '../bench/install.ts'
import { exitOnSignals } from './pack.ts'
import { startRegistry } from './registry.ts'
import { version } from './version.ts'

const { values } = parseArgs({
  options: { templates: { type: 'string', default: 'sign-in,team' }, times: { type: 'string', default: '1' } },
})
const root = resolve(import.meta.dirname, '..')
install(import.meta.dirname)

exitOnSignals()
using temporary = new Folder()
const folder = temporary.path
await using registry = await startRegistry(join(folder, 'registry'))
// Nothing of `npm run` reaches the commands of the new user.
const inherited = Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_ENV$|INIT_CWD$)/.test(name))
const env = { ...Object.fromEntries(inherited), ...registry.env, CI: '1', WRANGLER_SEND_METRICS: 'false' }

const clone = join(folder, 'clone')
step('git clone', folder, env, 'git', 'clone', '--quiet', root, clone)
symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'))
const released = raise(clone)
for (const path of [clone, join(clone, 'create-edgemcp')]) step(`npm publish ${released}`, path, env, 'npm', 'publish')

const rows: (readonly [string, ...number[]])[] = []
for (let time = 1; time <= Number(values.times); time += 1) {
  for (const template of values.templates.split(','))
    rows.push(walk(template, join(folder, `${template}-${time}`), env))
}
const head = ['template', 'npm create', 'npm install', 'npm test', 'npm run check', 'deploy --dry-run', 'minutes']
const lines = rows.map(([template, ...seconds]) => [
  template,
  ...seconds.map((value) => `${value.toFixed(1)} s`),
  (seconds.reduce((sum, value) => sum + value, 0) / 60).toFixed(1),
])
console.log([head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n'))

/** Raises the version of the packages in a clone. Without a changeset, the release has the version that is committed. */
function raise(clone: string): string {
  const changesets = readdirSync(join(clone, '.changeset')).filter((name) => name.endsWith('.md'))
  if (changesets.length > 0) version(clone)
  return JSON.parse(readFileSync(join(clone, 'package.json'), 'utf8')).version
}

/** Does what a new user does. Returns the seconds of each command. */
function walk(template: string, path: string, env: NodeJS.ProcessEnv): readonly [string, ...number[]] {
  mkdirSync(path)
  // No configuration of this machine, other than the registry.
  writeFileSync(join(path, '.npmrc'), '')
  const project = join(path, 'my-server')
  const user = {
    ...env,
    npm_config_cache: join(path, 'cache'),
    npm_config_userconfig: join(path, '.npmrc'),
    HOME: path,
  }
  return [
    template,
    step(
      'npm create',
      path,
      user,
      'npm',
      'create',
      '--yes',
      'edgemcp@latest',
      'my-server',
      '--',
      '--template',
      template,
    ),
    step('npm install', project, user, 'npm', 'install'),
    step('npm test', project, user, 'npm', 'test'),
    step('npm run check', project, user, 'npm', 'run', 'check'),
    step('deploy --dry-run', project, user, 'npx', 'wrangler', 'deploy', '--dry-run'),
  ]
}

/** Runs a command. Returns its seconds. @throws Error with its output, if it fails */
function step(name: string, cwd: string, env: NodeJS.ProcessEnv, command: string, ...params: string[]): number {
  const began = performance.now()
  const { status, stdout, stderr } = spawnSync(command, params, { cwd, env, encoding: 'utf8', timeout: 600_000 })
  const seconds = (performance.now() - began) / 1000
  console.error(`${name}: ${seconds.toFixed(1)} s`)
  if (status !== 0) throw new Error(`${name} failed with ${status}:\n${stdout}\n${stderr}`)
  return seconds
}
